# user of hotel: 1 replica, scaling baseline
job "hotel-user" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "hotel"
    "loadstone.service"    = "user"
  }

  constraint {
    attribute = "${node.unique.name}"
    operator  = "set_contains_any"
    value     = "worker-1,worker-2"
  }

  spread {
    attribute = "${node.unique.name}"
  }

  # All at once: a job that is still being rolled out could not be scaled.
  update {
    max_parallel = 0
  }

  group "user" {
    count = 1

    # Always and where it was; elsewhere only if its node is lost.
    restart {
      attempts = 10
      interval = "1m"
      delay    = "1s"
      mode     = "delay"
    }

    task "user" {
      driver = "docker"

      config {
        image             = "deathstarbench/hotel-reservation:latest"
        entrypoint        = ["user"]
        cpu_hard_limit    = false
        memory_hard_limit = 8796093022207

        labels = {
          "loadstone.deployment" = "hotel"
          "loadstone.service"    = "user"
        }

        mount {
          type     = "bind"
          source   = "local/hosts"
          target   = "/etc/hosts"
          readonly = false
        }

        mount {
          type     = "bind"
          source   = "local/configs/96f8f8-config.json"
          target   = "/workspace/config.json"
          readonly = true
        }
      }

      env = {
        GC                  = "100"
        JAEGER_SAMPLE_RATIO = "0.01"
        LOG_LEVEL           = "INFO"
      }

      template {
        destination = "local/hosts"
        change_mode = "restart"

        data = "127.0.0.1 localhost\n{{ if lt (len (service \"hotel-consul|any\")) 1 }}{{ key \"loadstone/waits-for/hotel-consul\" }}{{ end }}{{ range service \"hotel-consul|any\" }}{{ .Address }} consul\n{{ end }}{{ if lt (len (service \"hotel-jaeger|any\")) 1 }}{{ key \"loadstone/waits-for/hotel-jaeger\" }}{{ end }}{{ range service \"hotel-jaeger|any\" }}{{ .Address }} jaeger\n{{ end }}{{ if lt (len (service \"hotel-memcached-rate|any\")) 1 }}{{ key \"loadstone/waits-for/hotel-memcached-rate\" }}{{ end }}{{ range service \"hotel-memcached-rate|any\" }}{{ .Address }} memcached-rate\n{{ end }}{{ if lt (len (service \"hotel-memcached-review|any\")) 1 }}{{ key \"loadstone/waits-for/hotel-memcached-review\" }}{{ end }}{{ range service \"hotel-memcached-review|any\" }}{{ .Address }} memcached-review\n{{ end }}{{ if lt (len (service \"hotel-memcached-profile|any\")) 1 }}{{ key \"loadstone/waits-for/hotel-memcached-profile\" }}{{ end }}{{ range service \"hotel-memcached-profile|any\" }}{{ .Address }} memcached-profile\n{{ end }}{{ if lt (len (service \"hotel-memcached-reserve|any\")) 1 }}{{ key \"loadstone/waits-for/hotel-memcached-reserve\" }}{{ end }}{{ range service \"hotel-memcached-reserve|any\" }}{{ .Address }} memcached-reserve\n{{ end }}{{ if lt (len (service \"hotel-mongodb-geo|any\")) 1 }}{{ key \"loadstone/waits-for/hotel-mongodb-geo\" }}{{ end }}{{ range service \"hotel-mongodb-geo|any\" }}{{ .Address }} mongodb-geo\n{{ end }}{{ if lt (len (service \"hotel-mongodb-profile|any\")) 1 }}{{ key \"loadstone/waits-for/hotel-mongodb-profile\" }}{{ end }}{{ range service \"hotel-mongodb-profile|any\" }}{{ .Address }} mongodb-profile\n{{ end }}{{ if lt (len (service \"hotel-mongodb-rate|any\")) 1 }}{{ key \"loadstone/waits-for/hotel-mongodb-rate\" }}{{ end }}{{ range service \"hotel-mongodb-rate|any\" }}{{ .Address }} mongodb-rate\n{{ end }}{{ if lt (len (service \"hotel-mongodb-review|any\")) 1 }}{{ key \"loadstone/waits-for/hotel-mongodb-review\" }}{{ end }}{{ range service \"hotel-mongodb-review|any\" }}{{ .Address }} mongodb-review\n{{ end }}{{ if lt (len (service \"hotel-mongodb-attractions|any\")) 1 }}{{ key \"loadstone/waits-for/hotel-mongodb-attractions\" }}{{ end }}{{ range service \"hotel-mongodb-attractions|any\" }}{{ .Address }} mongodb-attractions\n{{ end }}{{ if lt (len (service \"hotel-mongodb-recommendation|any\")) 1 }}{{ key \"loadstone/waits-for/hotel-mongodb-recommendation\" }}{{ end }}{{ range service \"hotel-mongodb-recommendation|any\" }}{{ .Address }} mongodb-recommendation\n{{ end }}{{ if lt (len (service \"hotel-mongodb-reservation|any\")) 1 }}{{ key \"loadstone/waits-for/hotel-mongodb-reservation\" }}{{ end }}{{ range service \"hotel-mongodb-reservation|any\" }}{{ .Address }} mongodb-reservation\n{{ end }}{{ if lt (len (service \"hotel-mongodb-user|any\")) 1 }}{{ key \"loadstone/waits-for/hotel-mongodb-user\" }}{{ end }}{{ range service \"hotel-mongodb-user|any\" }}{{ .Address }} mongodb-user\n{{ end }}"
      }

      template {
        destination = "local/configs/96f8f8-config.json"
        change_mode = "noop"

        left_delimiter  = "<0<"
        right_delimiter = ">0>"

        data = <<EOT
{
  "ConsulAddress": "consul:8500",
  "JaegerAddress": "jaeger:6831",
  "FrontendPort": "5000",
  "ProfilePort": "8081",
  "SearchPort": "8082",
  "GeoPort": "8083",
  "RatePort": "8084",
  "RecommendationPort": "8085",
  "UserPort": "8086",
  "ReservationPort": "8087",
  "ReviewPort": "8088",
  "AttractionsPort": "8089",
  "GeoMongoAddress": "mongodb-geo:27017",
  "ProfileMongoAddress": "mongodb-profile:27017",
  "RateMongoAddress": "mongodb-rate:27017",
  "ReviewMongoAddress": "mongodb-review:27017",
  "AttractionsMongoAddress": "mongodb-attractions:27017",
  "RecommendationMongoAddress": "mongodb-recommendation:27017",
  "ReservationMongoAddress": "mongodb-reservation:27017",
  "UserMongoAddress": "mongodb-user:27017",
  "RateMemcAddress": "memcached-rate:11211",
  "ReviewMemcAddress": "memcached-review:11211",
  "ProfileMemcAddress": "memcached-profile:11211",
  "ReservationMemcAddress": "memcached-reserve:11211"
}
EOT
      }

      resources {
        cpu    = 2
        memory = 10
      }
    }
  }
}
