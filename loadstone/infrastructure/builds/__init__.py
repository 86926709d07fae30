"""The binaries of cluster software: taken from the PATH where the version fits, else built once from Go modules."""
