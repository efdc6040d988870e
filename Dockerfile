# syntax=docker/dockerfile:1
FROM debian:12 AS build
RUN apt-get update && apt-get install --yes --no-install-recommends \
      cmake g++ ninja-build pkg-config libcli11-dev libcpp-httplib-dev libspdlog-dev libssl-dev \
      libmimalloc-dev libre2-dev libyaml-dev nlohmann-json3-dev prometheus-cpp-dev && \
    rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cmake -S . -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release -DMUSTER_TESTS=OFF -DMUSTER_BENCH=OFF && \
    ninja -C /build muster muster-wait && strip /build/muster

# muster is linked to Debian's libraries, so that their security updates are a rebuild
# away; muster-wait is static and runs without any of them.
FROM debian:12-slim
RUN apt-get update && apt-get install --yes --no-install-recommends \
      ca-certificates libcpp-httplib0.11 libmimalloc2.0 libprometheus-cpp-core1.0 libre2-9 libspdlog1.10 libssl3 libyaml-0-2 && \
    rm -rf /var/lib/apt/lists/*
COPY --from=build /build/muster /build/muster-wait /
USER 65532:65532
ENTRYPOINT ["/muster"]
CMD ["serve"]
