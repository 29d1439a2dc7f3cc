"""The demo: a whole life of a node group on this machine, told and measured by a bystander.

It starts the simulator and the operator as processes of their own, plays a user, and believes neither: what it shows
and measures comes from the world's history, the operator's audit records and the Kubernetes API.
"""
