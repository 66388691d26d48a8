# One image for every role: `docker run redbook api`, `docker run redbook ledger reconcile`.
#
# The base image is pinned by version. To pin it by content as well, append the digest that
#   docker buildx imagetools inspect node:24.21.0-bookworm-slim
# prints: NODE=node:24.21.0-bookworm-slim@sha256:…
ARG NODE=node:24.21.0-bookworm-slim

FROM ${NODE} AS packages
WORKDIR /redbook
COPY package.json package-lock.json .npmrc LICENSE NOTICE ./
# No package here needs its install script. The bundler of the page comes as an optional package.
RUN npm ci --omit=dev --ignore-scripts
COPY lua lua
COPY migrations migrations
COPY src src
# The trading page is bundled here, and what only the page is made of goes. Node 24 runs the TypeScript sources as they
# are, so what translates them elsewhere goes too, and so does the Postgres of `npm start` (optional).
RUN node src/web/bundle.mjs \
 && npm prune --omit=dev --omit=optional --ignore-scripts --offline \
 && cd node_modules \
 && rm -rf esbuild tsx typescript preact @preact lightweight-charts fancy-canvas @noble ../src/web
# Copied files keep their mode, and a checkout under umask 077 has files that only their owner may read.
RUN chmod -R a+rX package.json lua migrations src dist

FROM ${NODE}
ENV NODE_ENV=production PORT=8080
WORKDIR /redbook
COPY --from=packages /redbook/node_modules node_modules
COPY --from=packages /redbook/package.json ./
COPY --from=packages /redbook/lua lua
COPY --from=packages /redbook/migrations migrations
COPY --from=packages /redbook/src src
COPY --from=packages /redbook/dist dist
# Nothing is written to disk: the root file system may be read-only, and everything in it belongs to root.
USER 1000:1000
EXPOSE 8080
# Alive is not ready: a process whose Redis is away waits for it, and a restart would not bring it back sooner.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/livez').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Room for what lives as long as a request: collecting it takes half as often, and a tenth of the processor less.
ENTRYPOINT ["node", "--max-semi-space-size=32", "src/main.ts"]
CMD ["--help"]
