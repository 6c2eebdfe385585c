"""The environments, as Gymnasium environments.

They stand alone: nothing here knows of tables, networks or agents. `vast.tasks` registers them.
"""
