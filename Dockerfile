# The daemon and its command line in one image: docker build -t millrace .
FROM node:24-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci
COPY . .
RUN npm run build && npm pack --pack-destination /out

FROM node:24-bookworm-slim
COPY --from=build /out/ /tmp/package/
RUN npm install --global --omit=dev /tmp/package/*.tgz \
  && rm -rf /tmp/package /root/.npm \
  && install -d -o node -g node -m 0700 /var/lib/millrace
USER node
# One root, one daemon: never mount it into two containers that run at once.
VOLUME /var/lib/millrace
ENV MILLRACE_ROOT=/var/lib/millrace/root
EXPOSE 7117
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:7117/livez').then((a) => process.exit(a.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["millrace"]
# Beyond loopback a token is needed first: millrace tokens add ops --scope ops:read ops:write ingest:read ingest:write
CMD ["serve", "--listen", "0.0.0.0:7117"]
