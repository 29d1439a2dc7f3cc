"""The contract with users: custom resources, conditions, topology tables, CRDs."""
