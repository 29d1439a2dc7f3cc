variable "project" {
  description = "The project of everything."
  type        = string
}

variable "zones" {
  description = "Zones of all clusters' node groups. None: all zones."
  type        = set(string)
  default     = []
}

variable "clusters" {
  description = "Cluster -> its `issuer`, the --service-account-issuer. At most 15 characters each: account names have 30."
  type        = map(object({ issuer = string }))

  validation {
    condition     = length(var.clusters) > 0 && alltrue([for cluster in keys(var.clusters) : can(regex("^[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?$", cluster))])
    error_message = "clusters must name at least one, each with at most 15 lower-case letters, digits or \"-\"."
  }
}
