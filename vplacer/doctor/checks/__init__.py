"""The checks, one module a subject. `vplacer.doctor.run` lists them."""
