"""What a script that carries a plan out must say: the same for every language it is written in."""
