# Machines of an OpenStack cloud. Credentials: clouds.yaml and OS_CLOUD, or the variables of an openrc file.

terraform {
  required_providers {
    openstack = {
      source  = "terraform-provider-openstack/openstack"
      version = "~> 3.0"
    }
  }
}

variable "token" {
  description = "In the name of everything that is made."
  type        = string
}

variable "machines" {
  description = "Names: client-1, manager-1, worker-1."
  type        = list(string)
}

variable "public_key" {
  description = "May log in to all machines."
  type        = string
}

variable "type" {
  description = "The flavour."
  type        = string
}

variable "image" {
  description = "Its name."
  type        = string
  default     = "CC-Ubuntu24.04"
}

variable "network" {
  description = "The network that the machines share, which a router joins to the outside."
  type        = string
  default     = "sharednet1"
}

variable "outside" {
  description = "The network of floating addresses."
  type        = string
  default     = "public"
}

variable "login" {
  description = "The user that the image has for SSH."
  type        = string
  default     = "cc"
}

data "openstack_networking_network_v2" "shared" {
  name = var.network
}

resource "openstack_compute_keypair_v2" "login" {
  name       = var.token
  public_key = var.public_key
}

resource "openstack_networking_secgroup_v2" "machines" {
  name        = var.token
  description = "SSH from outside, all between the machines of one study"
}

resource "openstack_networking_secgroup_rule_v2" "ssh" {
  security_group_id = openstack_networking_secgroup_v2.machines.id
  direction         = "ingress"
  ethertype         = "IPv4"
  protocol          = "tcp"
  port_range_min    = 22
  port_range_max    = 22
  remote_ip_prefix  = "0.0.0.0/0"
}

resource "openstack_networking_secgroup_rule_v2" "between" {
  security_group_id = openstack_networking_secgroup_v2.machines.id
  direction         = "ingress"
  ethertype         = "IPv4"
  remote_group_id   = openstack_networking_secgroup_v2.machines.id
}

resource "openstack_networking_port_v2" "machine" {
  for_each           = toset(var.machines)
  name               = "${var.token}-${each.key}"
  network_id         = data.openstack_networking_network_v2.shared.id
  security_group_ids = [openstack_networking_secgroup_v2.machines.id]
}

resource "openstack_compute_instance_v2" "machine" {
  for_each    = toset(var.machines)
  name        = "${var.token}-${each.key}"
  flavor_name = var.type
  image_name  = var.image
  key_pair    = openstack_compute_keypair_v2.login.name
  metadata    = { loadstone = var.token }

  network {
    port = openstack_networking_port_v2.machine[each.key].id
  }
}

# One address: the other machines are reached through the first.
resource "openstack_networking_floatingip_v2" "first" {
  pool        = var.outside
  description = var.token
}

resource "openstack_networking_floatingip_associate_v2" "first" {
  floating_ip = openstack_networking_floatingip_v2.first.address
  port_id     = openstack_networking_port_v2.machine[var.machines[0]].id
}

output "machines" {
  description = "Of each: its address in the network of all, the one outside if it has one, and the user for SSH."
  value = {
    for name in var.machines : name => {
      address = openstack_compute_instance_v2.machine[name].access_ip_v4
      outside = name == var.machines[0] ? openstack_networking_floatingip_associate_v2.first.floating_ip : ""
      login   = var.login
    }
  }
}

output "inventory" {
  description = "The hosts.yaml of Loadstone; in ~/.ssh/config, the first machine is the ProxyJump of the others."
  value = yamlencode({
    hosts = {
      for name in var.machines : name => {
        login = join("@", [var.login, name == var.machines[0]
          ? openstack_networking_floatingip_associate_v2.first.floating_ip
          : openstack_compute_instance_v2.machine[name].access_ip_v4
        ])
        address = openstack_compute_instance_v2.machine[name].access_ip_v4
        roles   = [regex("^[a-z]+", name)]
      }
    }
  })
}
