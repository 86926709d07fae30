"""Prepares hosts for studies by Ansible: packages, time synchronisation, swap, firewall, the login's rights."""
