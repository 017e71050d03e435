# bun run build && docker build -t bookfeed .
#
# The executable of `bun run build`, the C library that it is linked to, and nothing else: no base
# image whose tag could be moved, no shell, no package manager, nothing that is downloaded here.
FROM scratch
# "nonroot" in most images, by number so that Kubernetes can check runAsNonRoot.
COPY --chown=65532:65532 dist/image/data /data
COPY dist/image /
ENV BOOKFEED_DATA=/data BOOKFEED_HOST=0.0.0.0
# When memory is given back; see docs/operations.md.
ENV MIMALLOC_PURGE_DELAY=1000 MIMALLOC_PURGE_HOLES_MIN_INTERVAL=10000 BUN_JSC_forceRAMSize=536870912 BUN_GC_TIMER_DISABLE=1
USER 65532:65532
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=3s --start-period=10s --retries=3 CMD ["/bookfeed", "status", "--health"]
# Exec form: it is process 1 and gets SIGTERM itself. Another command replaces `serve`:
# docker run --rm bookfeed --help
ENTRYPOINT ["/bookfeed"]
CMD ["serve"]
