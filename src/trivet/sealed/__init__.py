"""What base says: policy, manifests, ledger, owners. The patch has no voice here."""
