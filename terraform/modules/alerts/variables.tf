variable "project" {
  description = "Project of the event pipeline, whose metrics are watched and in which the alerts are."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9.:-]{4,61}[a-z0-9]$", var.project))
    error_message = "project must be a project id, like my-project: 6 to 63 lower-case letters, digits, \"-\", \".\" or \":\"."
  }
}

variable "subscriptions" {
  description = "Cluster -> its subscription, as projects/P/subscriptions/S: what event-pipeline gives out."
  type        = map(string)
  nullable    = false

  validation {
    condition     = length(var.subscriptions) > 0 && alltrue([for name in values(var.subscriptions) : can(regex("^projects/[^/]+/subscriptions/[^/]+$", name))])
    error_message = "subscriptions must have at least one, like projects/P/subscriptions/S."
  }
}

variable "dead_letter_subscription" {
  description = "Name of the subscription that keeps the dead letters."
  type        = string
  nullable    = false
}

variable "sink" {
  description = "Name of the sink."
  type        = string
  nullable    = false
}

variable "notification_channels" {
  description = "Who is told, as projects/P/notificationChannels/N."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for channel in var.notification_channels : can(regex("^projects/[^/]+/notificationChannels/[^/]+$", channel))])
    error_message = "notification_channels must be like projects/P/notificationChannels/N."
  }
}

variable "runbooks_url" {
  description = "Where docs/runbooks of this repository can be read, as a URL; alerts link to the page of their name. None: they name the page."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.runbooks_url == "" || can(regex("^https?://[^\\s]+[^/\\s]$", var.runbooks_url))
    error_message = "runbooks_url must be an http:// or https:// URL without a slash at its end."
  }
}

variable "deaf_minutes" {
  description = "An operator that has acknowledged nothing for so long is deaf. More than two of its canaries come in this time."
  type        = number
  default     = 15
  nullable    = false

  validation {
    condition     = var.deaf_minutes >= 10 && var.deaf_minutes <= 1440
    error_message = "deaf_minutes must be from 10, two canaries, to 1440, a day."
  }
}

variable "oldest_message_minutes" {
  description = "Messages must not wait longer than this."
  type        = number
  default     = 10
  nullable    = false

  validation {
    condition     = var.oldest_message_minutes >= 1
    error_message = "oldest_message_minutes must be at least 1."
  }
}

variable "prometheus" {
  description = "Whether the operator's /metrics come to Managed Service for Prometheus: what it says of itself is then watched too."
  type        = bool
  default     = false
  nullable    = false
}

variable "not_ready_minutes" {
  description = "A slice may be not Ready for so long; with `prometheus` alone."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = var.not_ready_minutes >= 1
    error_message = "not_ready_minutes must be at least 1."
  }
}

variable "enable_apis" {
  description = "Whether the Monitoring API is enabled in `project`. It is never disabled again."
  type        = bool
  default     = true
  nullable    = false
}
