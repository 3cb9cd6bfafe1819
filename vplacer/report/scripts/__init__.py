"""Plans as scripts for people who change a vCenter with other tools."""
