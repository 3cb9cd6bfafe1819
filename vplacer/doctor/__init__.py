"""The doctor: does a vCenter behave as the product relies on? Pure: facts in, findings out."""
