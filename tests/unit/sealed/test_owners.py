"""Ownership of paths in the three dialects, rule by rule as the forges document them."""

from __future__ import annotations

import pytest

from trivet.sealed.owners import parse_owners

GITHUB = """
* @all                                   | a.py                    | @all
* @all                                   | deep/down/a.py          | @all
* @all                                   | .hidden                 | @all
/* @root                                 | a.py                    | @root
/* @root                                 | x/a.py                  |
*.js @js                                 | a.js                    | @js
*.js @js                                 | x/y/a.js                | @js
*.js @js                                 | a.jsx                   |
*.js @js                                 | a.JS                    |
*.js @js                                 | x.js/inner.txt          | @js
docs/* @d                                | docs/a.md               | @d
docs/* @d                                | docs/b/c.md             |
docs/* @d                                | x/docs/a.md             |
/docs/ @d                                | docs/a/b/c              | @d
/docs/ @d                                | docs                    |
/docs/ @d                                | x/docs/a                |
docs/ @d                                 | x/docs/a                | @d
docs/ @d                                 | docs/a                  | @d
docs/ @d                                 | docs                    |
apps @a                                  | apps                    | @a
apps @a                                  | x/apps/y/z              | @a
/apps @a                                 | apps/y                  | @a
/apps @a                                 | x/apps/y                |
apps/github @a                           | apps/github/x           | @a
apps/github @a                           | z/apps/github/x         |
**/logs @l                               | logs/a                  | @l
**/logs @l                               | deploy/logs/a           | @l
**/logs @l                               | build/x/logs            | @l
**/logs @l                               | build/catalogs/a        |
/build/logs/ @l                          | build/logs/x/y          | @l
a/**/b @x                                | a/b                     | @x
a/**/b @x                                | a/q/r/b                 | @x
a/**/b @x                                | a/q/r/b/s               | @x
a/**/b @x                                | z/a/b                   |
a/** @x                                  | a/b/c                   | @x
a/** @x                                  | a                       |
/** @x                                   | q/r                     | @x
** @x                                    | q/r                     | @x
**/ @x                                   | q/r                     | @x
**/ @x                                   | q                       |
a/**/* @x                                | a/b/c                   | @x
a/**/* @x                                | a/b                     | @x
**/t/* @x                                | t/t/a                   | @x
**/t/* @x                                | t/a                     | @x
**/t/* @x                                | t/a/b                   |
a/*/ @x                                  | a/b/c                   | @x
a/*/ @x                                  | a/b                     |
a/*/c @x                                 | a/b/c                   | @x
a/*/c @x                                 | a/b/b/c                 |
a/*.md @x                                | a/b.md                  | @x
a/*.md @x                                | a/b/c.md                |
f?o @x                                   | foo                     | @x
f?o @x                                   | f/o                     |
f?o @x                                   | fo                      |
a**b @x                                  | aqqb                    | @x
a**b @x                                  | a/b                     |
a\\ b/c @x                               | a b/c                   | @x
a\\ b @x                                 | a b                     | @x
a\\*b @x                                 | a*b                     | @x
a\\*b @x                                 | aqb                     |
/a#b @x                                  | a#b                     | @x
/a.b @x                                  | axb                     |
/a+b(c) @x                               | a+b(c)                  | @x
/a{b,c} @x                               | ab                      |
/a{b,c} @x                               | a{b,c}                  | @x
*.js @a #c @b                            | x.js                    | @a
*.js @a # c                              | x.js                    | @a
*.js#c @a                                | x.js#c                  | @a
# * @a                                   | x                       |
  * @a                                   | x                       | @a
*\t@a\t@b                                | x                       | @a @b
* @a me@example.com                      | x                       | @a me@example.com
* @org/team                              | x                       | @org/team
* @org/team_x.y-z                        | x                       | @org/team_x.y-z
* @a @a                                  | x                       | @a
* @all; /apps/ @a; /apps/github          | apps/github             |
* @all; /apps/ @a; /apps/github          | apps/x                  | @a
* @all; tests/sealed/**                  | tests/sealed/x          |
* @all; /tests/ @t; *.py @p              | tests/a.py              | @p
/tests/ @t; * @all                       | tests/a.py              | @all
* @all; /tests/ # nobody                 | tests/a.py              |
* @a;; /x @b                             | x                       | @b
/src @a                                  | srcs/a                  |
/src/*/m @a                              | src/.x/m                | @a
tests/s @a                               | tests/sealed            |
/a/../b @x                               | b                       | !
./a @x                                   | a                       | !
a//b @x                                  | a/b                     | !
/ @x                                     | a                       | !
!a @x                                    | b                       | !
[ab] @x                                  | a                       | !
/x[1-3] @x                               | x1                      | !
\\#a @x                                  | #a                      | !
* @all; * notowner                       | x                       | @all !
* @all; * @                              | x                       | @all !
* @all; * @a/b/c                         | x                       | @all !
* @all; * @@maintainer                   | x                       | @all !
* @all; * @a,@b                          | x                       | @all !
* @all; * me@localhost                   | x                       | @all !
* @all; /t/ @ok bad                      | t/x                     | @all !
* @all; [Section] @x                     | x                       | @all !
* @all; /tests\\/                         | tests/x                 | @all !
* @all; *\u00a0@x                        | x                       | @all !
* @all; /tests/ @x\u200b                 | tests/x                 | @all !
* @all; /tests/ @\u0430gent              | tests/x                 | @all !
# caf\u00e9\u00a0and more; * @a          | x                       | @a
"""

GITLAB = """
* @all                                   | a/b/c                   | @all
* @all                                   | .a                      | @all
README.md @r                             | README.md               | @r
README.md @r                             | a/b/README.md           | @r
README.md @r                             | README.md/x             |
internal/README.md @r                    | docs/internal/README.md | @r
/README.md @r                            | README.md               | @r
/README.md @r                            | a/README.md             |
/docs/ @d                                | docs/a                  | @d
/docs/ @d                                | docs/a/b/.c             | @d
/docs/ @d                                | x/docs/a                |
docs/ @d                                 | x/docs/a/b              | @d
/docs @d                                 | docs/a                  |
/docs @d                                 | docs                    | @d
docs @d                                  | docs/a                  |
/docs/* @d                               | docs/a                  | @d
/docs/* @d                               | docs/a/b                |
/docs/** @d                              | docs/a                  | @d
/docs/** @d                              | docs/a/b                |
/docs/**/* @d                            | docs/a/b                | @d
/docs/**/* @d                            | docs/a                  | @d
/docs/**/i.md @d                         | docs/i.md               | @d
/docs/**/i.md @d                         | docs/a/b/i.md           | @d
/docs/*.md @d                            | docs/a.md               | @d
/docs/*.md @d                            | docs/a/b.md             |
/docs/index.* @d                         | docs/index.rst          | @d
/docs/*spec* @d                          | docs/qa_specs.rb        | @d
/docs/*/README.md @d                     | docs/api/README.md      | @d
/docs/*/README.md @d                     | docs/README.md          |
*.rb @r                                  | a/b.rb                  | @r
*.rb @r                                  | a/b.rb/c                |
*.rb @r                                  | a.RB                    |
f?.c @x                                  | fa.c                    | @x
f?.c @x                                  | f/.c                    |
/x[12] @x                                | x1                      | @x
/x[12] @x                                | x3                      |
/x[!1] @x                                | x2                      | @x
/x[^1] @x                                | x1                      |
/x[a-c] @x                               | xb                      | @x
/x[a-c]y @x                              | x/y                     |
/x[ @x                                   | x[                      |
/a{b,c} @x                               | ab                      |
a**b @x                                  | aqb                     | @x
a**/b @x                                 | aq/b                    | @x
a**/b @x                                 | a/q/b                   |
/a\\ b/ @x                               | a b/c                   | @x
\\#a @x                                  | #a                      | @x
/a\\*b @x                                | aqb                     |
/a\\*b @x                                | a*b                     | @x
# * @a                                   | x                       |
* @a\t@b                                 | x                       | @a @b
* @g/sub/sub2                            | x                       | @g/sub/sub2
* @@maintainer                           | x                       | @@maintainer
* @@developers me@example.com            | x                       | @@developers me@example.com
* @a; *.rb @b                            | x.rb                    | @b
*.rb @b; * @a                            | x.rb                    | @a
*.rb @a; /x/ @b; *.rb @c                 | x/y.rb                  | @b
*.rb @a; *.rb @c                         | y.rb                    | @c
* @a; [S]; *.rb @b                       | x.rb                    | @a @b
* @a; [S]; *.rb @b                       | x.py                    | @a
* @a; [S]; README.md @u; internal/README.md @v; [T]; README.md @w | internal/README.md | @a @v @w
[S] @d; docs/                            | docs/a                  | @d
[S] @d; docs/ @e                         | docs/a                  | @e
[S] @d @e; docs/                         | docs/a                  | @d @e
[S][2] @d @e; docs/                      | docs/a                  | @d @e
^[S] @d; docs/                           | docs/a                  | @d
[S] @d; docs/; [s] @e; src/              | src/a                   | @e
[S]; * @a; [T]; * @b; [s]; /x @c         | x                       | @c @b
[My Section] @d; docs/                   | docs/a                  | @d
[S] @d; docs/; [T] @e; docs/             | docs/a                  | @d @e
* @a; !pom.xml                           | pom.xml                 |
* @a; !pom.xml                           | x/pom.xml               |
* @a; !pom.xml                           | other                   | @a
* @a; !*.rb; /s/*.rb @b                  | s/a.rb                  |
!*.rb; * @a                              | a.rb                    |
* @a; [R]; *.rb @r; !/c/**/*.rb          | c/x/a.rb                | @a
* @a; [R]; *.rb @r; !/c/**/*.rb          | d/a.rb                  | @a @r
* @a; [R]; !*.rb                         | d/a.rb                  | @a
!*.rb; *.rb @a                           | a.rb                    | @a
[codeowners] @x; *; [S]; y @z            | q                       | @x
  /x @a                                  | x                       | @a
/x @a                                    | .x                      |
/.g/ @a                                  | .g/w.yml                | @a
*.md @m # all files                      | a.md                    | @m
*.md @m # and @n                         | a.md                    | @m @n !
[S] @d; /x # note                        | x                       | !
* @a; /x                                 | x                       | !
* @a; /x bad                             | x                       | !
* @a; /x @b bad                          | x                       | @b !
* @a; [Broken; /x @b                     | x                       | @b !
* @a; [] @d                              | x                       | @a !
* @a; [S]x; /x @b                        | x                       | @b !
[S][two] @d; /x @b                       | x                       | @b !
[S] bad; /x @b                           | x                       | @b !
* @all; /x\u00a0@b                       | x                       | @all !
[S]\u2003@d; /x                          | x                       | !
"""

GITEA = r"""
.* @all                                  | a/b.c                   | @all
.*\\.go @u                               | a/b.go                  | @u
.*\\.go @u                               | a/bxgo                  |
.*\\.go @u                               | a/b.gox                 |
.*\.go @u                                | a/bxgo                  | @u
a.go @u                                  | a.go                    | @u
a.go @u                                  | x/a.go                  |
a @u                                     | a/b                     |
a/.* @u                                  | a/b/c                   | @u
/a/.* @u                                 | a/b                     |
docs/(aws|gcp)/[^/]*\\.(md|txt) @u       | docs/aws/x.md           | @u
docs/(aws|gcp)/[^/]*\\.(md|txt) @u       | docs/aws/y/x.md         |
docs/(aws|gcp)/[^/]*\\.(md|txt) @u       | docs/azure/x.md         |
!a/.* @u                                 | b                       | @u
!a/.* @u                                 | a/b                     |
.* @x; !a/.* @u                          | b                       | @x @u
.* @x; a/.* @u                           | a/b                     | @x @u
a/.* @u; .* @x                           | a/b                     | @u @x
a|b @u                                   | axyz                    | @u
a|b @u                                   | xyzb                    | @u
a|b @u                                   | xay                     |
(a|b) @u                                 | axyz                    |
x\#y @u                                  | x#y                     | @u
x\ y @u                                  | x y                     | @u
x\\\\y @u                                | x\y                     | @u
# .* @u                                  | a                       |
.* @u # and @v                           | a                       | @u
.* @u#v                                  | a                       | @u
.* u                                     | a                       | @u
.* @o/t                                  | a                       | @o/t
.* o/t                                   | a                       | @o/t
.* @u @v                                 | a                       | @u @v
  .*   @u                                | a                       | @u
[a-c]+ @u                                | abc                     | @u
[a-c]+ @u                                | abd                     |
[^a]+ @u                                 | bcd                     | @u
a{2} @u                                  | aa                      | @u
a{2} @u                                  | a                       |
(?i)readme @u                            | README                  | @u
readme @u                                | README                  |
a? @u                                    | a                       | @u
.+ @u                                    | q                       | @u
\\w+ @u                                  | abc                     | @u
\\d+ @u                                  | 123                     | @u
\\d+ @u                                  | x                       |
\\S+ @u                                  | a/b                     | @u
a\\+b @u                                 | a+b                     | @u
a\\.b @u                                 | a.b                     | @u
a\\.b @u                                 | aXb                     |
\\(x\\) @u                               | (x)                     | @u
^a @u                                    | a                       | @u
a$ @u                                    | a                       | @u
.*/test_.*\\.py @u                       | tests/test_x.py         | @u
.*/test_.*\\.py @u                       | test_x.py               |
(.*/)?test_.*\\.py @u                    | test_x.py               | @u
tests/sealed/.* @o                       | tests/sealed/a          | @o
tests/sealed/.* @o                       | tests/sealed            |
tests/sealed/.* @o                       | tests/sealedx/a         |
tests/sealed @o                          | tests/sealed/a          |
CODEOWNERS @o                            | CODEOWNERS              | @o
CODEOWNERS @o                            | docs/CODEOWNERS         |
\.gitea/.* @o                            | .gitea/w.yml            | @o
\.gitea/.* @o                            | xgitea/w.yml            | @o
\\.gitea/.* @o                           | xgitea/w.yml            |
!.*\\.md @o                              | a.py                    | @o
!.*\\.md @o                              | a.md                    |
!a @u; !b @v                             | a                       | @v
(?P<n>a)b @u                             | ab                      | @u
(?:a)b @u                                | ab                      | @u
a*? @u                                   | aaa                     | @u
[[]x @u                                  | [x                      | !
\! @u                                    | x                       | @u
.* @all; a                               | a                       | @all !
.* @all; ( @u                            | a                       | @all !
.* @all; a(?=b) @u                       | a                       | @all !
.* @all; (?<!b)a @u                      | a                       | @all !
.* @all; (a)\\1 @u                       | aa                      | @all !
.* @all; a++ @u                          | aa                      | @all !
.* @all; [[:alpha:]] @u                  | a                       | @all !
.* @all; \\pL @u                         | a                       | @all !
.* @all; \\Qa\\E @u                      | a                       | @all !
.* @all; a**  @u                         | a                       | @all !
.* @all; .* @a/b/c                       | a                       | @all !
.* @all; .* @a/b/c @u                    | a                       | @all @u !
.* @all; .* -                            | a                       | @all !
.* @all; [z-a] @u                        | a                       | @all !
"""


def _rows(table: str) -> list[tuple[str, str, tuple[str, ...], bool]]:
    rows = []
    for line in table.splitlines():
        if not line.strip():
            continue
        text, path, wanted = line.rsplit("|", 2)
        words = wanted.split()
        rows.append((text.strip(" ").replace("; ", "\n").replace(";", "\n"), path.strip(), tuple(w for w in words if w != "!"), "!" in words))
    return rows


@pytest.mark.parametrize(("text", "path", "owners", "bad"), _rows(GITHUB))
def test_github_rules_give_the_documented_owners(text: str, path: str, owners: tuple[str, ...], bad: bool) -> None:
    """Each row is one rule of GitHub's documentation; ``!`` marks a file that cannot be relied on."""
    found = parse_owners(text.encode(), "github")
    assert (found.of(path.encode()), bool(found.problems)) == (owners, bad)


@pytest.mark.parametrize(("text", "path", "owners", "bad"), _rows(GITLAB))
def test_gitlab_rules_give_the_documented_owners(text: str, path: str, owners: tuple[str, ...], bad: bool) -> None:
    """Each row is one rule of GitLab's documentation or of its own table of entries."""
    found = parse_owners(text.encode(), "gitlab")
    assert (found.of(path.encode()), bool(found.problems)) == (owners, bad)


@pytest.mark.parametrize(("text", "path", "owners", "bad"), _rows(GITEA))
def test_gitea_rules_give_the_documented_owners(text: str, path: str, owners: tuple[str, ...], bad: bool) -> None:
    """Each row is one rule of Gitea's documentation: anchored expressions, all matching rules."""
    found = parse_owners(text.encode(), "gitea")
    assert (found.of(path.encode()), bool(found.problems)) == (owners, bad)
