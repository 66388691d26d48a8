# One image for every role: `docker run redbook api`, `docker run redbook ledger reconcile`.
#
# The base image is pinned by version. To pin it by content as well, append the digest that
#   docker buildx imagetools inspect node:24.21.0-bookworm-slim
# prints: NODE=node:24.21.0-bookworm-slim@sha256:…
ARG NODE=node:24.21.0-bookworm-slim

# Compiles the service and bundles the trading page, with the packages for development. No package here needs its
# install script.
FROM ${NODE} AS build
WORKDIR /redbook
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY LICENSE NOTICE tsconfig.json ./
COPY k8s/shared/probe.sh k8s/shared/users.acl k8s/shared/
COPY lua lua
COPY migrations migrations
COPY src src
RUN npm run -s build
# Copied files keep their mode, and a checkout under umask 077 has files that only their owner may read.
RUN chmod -R a+rX package.json LICENSE NOTICE k8s/shared/probe.sh src/redbook.mjs dist && chmod a+x src/redbook.mjs

# Installs what the service needs to run. The optional packages are accelerators. Source maps and TypeScript of
# packages are 30 of their 64 MB, and Node would parse the maps at each start.
FROM ${NODE} AS packages
WORKDIR /redbook
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts \
 && find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.cts' -o -name '*.mts' \) -delete

FROM ${NODE}
ENV NODE_ENV=production PORT=8080
WORKDIR /redbook
COPY --from=packages /redbook/node_modules node_modules
COPY --from=build /redbook/package.json /redbook/LICENSE /redbook/NOTICE ./
COPY --from=build /redbook/k8s/shared/probe.sh k8s/shared/
COPY --from=build /redbook/src/redbook.mjs src/
COPY --from=build /redbook/dist dist
# In a shell of the container an operator types `redbook status`.
RUN ln -s /redbook/src/redbook.mjs /usr/local/bin/redbook
# A new volume at this folder belongs to the user of the service, who writes checkpoints there.
RUN install -d -o 1000 -g 1000 /checkpoints
# The service writes nothing to disk: the root file system may be read-only, and root owns everything in it.
USER 1000:1000
EXPOSE 8080
# A process whose Redis is away is alive, and not ready. A restart would not bring Redis back sooner.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["bash", "/redbook/k8s/shared/probe.sh", "/livez"]
# The larger semi-space holds what lives as long as a request. Node collects it half as often, and takes a tenth less of
# the processor. Without the second flag, V8 takes what an order needs for long-lived: each collection of the semi-space
# then copies seven times as much, and those of the old space begin, which is a fifth of the processor. Source maps give stack traces the lines of the sources.
ENTRYPOINT ["node", "--max-semi-space-size=32", "--no-allocation-site-pretenuring", "--enable-source-maps", "dist/src/main.js"]
CMD ["--help"]
