# syntax=docker/dockerfile:1
# docker build -t bookfeed . && docker run -p 3000:3000 -v bookfeed:/data bookfeed
#
# A tag can be moved, a digest cannot. To build from exact images, look the digests up
# (`docker buildx imagetools inspect oven/bun:1.4.5-slim`) and pass them:
#   docker build --build-arg DEPS_IMAGE=oven/bun:1.4.5-slim@sha256:… \
#     --build-arg RUNTIME_IMAGE=oven/bun:1.4.5-distroless@sha256:… -t bookfeed .
ARG DEPS_IMAGE=oven/bun:1.4.5-slim
ARG RUNTIME_IMAGE=oven/bun:1.4.5-distroless

FROM ${DEPS_IMAGE} AS deps
WORKDIR /app
COPY package.json bun.lock bunfig.toml ./
# Bun installs optional peers that the lock file knows, such as typescript, unless they are omitted.
RUN bun install --frozen-lockfile --production --omit peer
# The runtime image has no shell to make the folder with.
RUN mkdir /data

# No shell, no package manager: what runs is Bun and this project.
FROM ${RUNTIME_IMAGE}
WORKDIR /app
# A read-only root file system is enough: Bun would otherwise cache what it transpiles.
ENV NODE_ENV=production \
    BUN_RUNTIME_TRANSPILER_CACHE_PATH=0 \
    BOOKFEED_DATA=/data \
    BOOKFEED_HOST=0.0.0.0
COPY --from=deps --chown=65532:65532 /data /data
COPY --from=deps /app/node_modules node_modules
COPY package.json ./
# The server carries docs/errors.md; the dashboard shows all of it.
COPY docs docs
COPY db db
# The dashboard is built from its source, in memory, when a page is first asked for.
COPY web web
COPY examples examples
COPY src src

# The distroless user "nonroot", by number so that Kubernetes can check runAsNonRoot.
USER 65532:65532
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=3s --start-period=10s --retries=3 \
  CMD ["/usr/local/bin/bun", "-e", "const { ok } = await fetch(`http://127.0.0.1:${process.env.BOOKFEED_PORT || 3000}/healthz`); process.exit(ok ? 0 : 1)"]
# Exec form: Bun is process 1 and gets SIGTERM itself. Another command replaces `serve`:
# docker run --rm bookfeed --help
ENTRYPOINT ["/usr/local/bin/bun", "src/main.ts"]
CMD ["serve"]
