variable "project" {
  description = "Project that holds the service account."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9.:-]{4,61}[a-z0-9]$", var.project))
    error_message = "project must be a project id, like my-project: 6 to 63 lower-case letters, digits, \"-\", \".\" or \":\"."
  }
}

variable "account_id" {
  description = "What the service account is called before the @."
  type        = string
  default     = "tpu-nodes"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][-a-z0-9]{4,28}[a-z0-9]$", var.account_id))
    error_message = "account_id must have 6 to 30 lower-case letters, digits or \"-\", begin with a letter and end with a letter or digit."
  }
}

variable "node_projects" {
  description = "Projects in which VMs of node groups run, and so write their log. None: `project` alone."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for project in var.node_projects : can(regex("^[a-z][a-z0-9.:-]{4,61}[a-z0-9]$", project))])
    error_message = "node_projects must be project ids."
  }
}
