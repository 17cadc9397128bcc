"""Maintenance measured as in Table 1 of Motik, Nenov, Piro and Horrocks (2015): `python -m tests.bench maintain`."""
