"""Scratch database servers, realistic loads for them, and the demo: for people who try, test or measure Lutra.

The agent and the service import nothing of it. They find its commands (`lutra-agent lab`, `lutra demo`) by the entry
points of this distribution, if it is installed.
"""
