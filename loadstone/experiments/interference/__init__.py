"""What disturbs the trials of a treatment: started before the warm-up, ended after the window, recorded apart.

``base`` is nothing at all, and what every kind can do; ``stressing`` has stressors, ``neighbour`` another application;
``chosen`` finds which of them a treatment wants.
"""
