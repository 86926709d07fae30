"""The nouns of Loadstone: data and validation, nothing that touches the world.

Every other layer speaks in these: an application is made of services, a study of factors and treatments, a
trial is one measured run. Models read YAML through ``document`` and name the file and line of what is wrong.
"""
