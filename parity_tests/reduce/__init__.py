"""Reducing: a program that shows a difference, to the smallest that still shows the same one.

`reading` makes a *draft* of the program's jaxpr, `steps` make smaller drafts of it, `writing`
writes each as a stand-alone file, `reduce` has the sides run that very file, `symptom` says whether
what they show is the same as before, and `search` puts the steps in order.
"""
