"""Pages: templates, style and script as files beside this one, and what makes one file of them."""
