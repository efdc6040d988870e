# syntax=docker/dockerfile:1
FROM debian:12 AS build
RUN apt-get update && apt-get install --yes --no-install-recommends \
      ca-certificates cmake g++ ninja-build pkg-config libcli11-dev libcpp-httplib-dev libspdlog-dev libssl-dev \
      libmimalloc-dev libre2-dev libyaml-dev nlohmann-json3-dev prometheus-cpp-dev && \
    rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cmake -S . -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release -DMUSTER_TESTS=OFF -DMUSTER_BENCH=OFF && \
    ninja -C /build muster muster-wait && scripts/image-root /build /image

# muster, the libraries of Debian that it is linked to, and no shell: their security updates are
# a rebuild away, and there is nothing else to update or to run.
FROM scratch
COPY --from=build /image/ /
USER 65532:65532
ENTRYPOINT ["/muster"]
CMD ["serve"]
