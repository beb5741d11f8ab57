"""The wires to the floor; speaks to the controller by its public HTTP API only."""
