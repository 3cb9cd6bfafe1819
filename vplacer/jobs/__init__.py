"""One function a command, for the command line, Ansible and workers alike."""
