# The program as an image. `docker compose build` makes it; `make image` builds, starts and checks it without an engine.
ARG PYTHON_IMAGE=python:3.13.7-slim-trixie
ARG NODE_IMAGE=node:22.19.0-bookworm-slim

# What pages load, from browser/package-lock.json.
FROM ${NODE_IMAGE} AS browser
WORKDIR /browser
COPY browser/package.json browser/package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund --loglevel=error

# Folders and the user that all images share.
FROM ${PYTHON_IMAGE} AS base
RUN groupadd --gid 10001 tga \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin tga \
 && install -d -o 10001 -g 10001 /data /data/files /data/files/thumbs /data/spool /data/models /secrets \
      /prepare/migrate /prepare/api /prepare/worker /prepare/ingest /prepare/commands /prepare/postgres /prepare/prometheus
ENV PATH=/opt/telegram-assistant/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
LABEL org.opencontainers.image.title="Unofficial Telegram Assistant" \
      org.opencontainers.image.description="Follows Telegram channels, keeps every post, and tells people what is new." \
      org.opencontainers.image.licenses="Apache-2.0"

# A virtual environment from the locked versions, and the program as a wheel in it.
FROM ${PYTHON_IMAGE} AS build
ARG DEBIAN_FRONTEND=noninteractive
RUN apt-get update -qq && apt-get install -qq -y --no-install-recommends binutils > /dev/null
WORKDIR /build
COPY requirements/build.txt requirements/
RUN python3 -m venv tools && tools/bin/pip install --quiet --no-cache-dir --no-compile --require-hashes -r requirements/build.txt
RUN python3 -m venv --without-pip /opt/telegram-assistant
ARG REQUIREMENTS=image
COPY requirements/${REQUIREMENTS}.txt requirements/
RUN tools/bin/pip --python /opt/telegram-assistant/bin/python install --quiet --no-cache-dir --no-compile --require-hashes -r requirements/${REQUIREMENTS}.txt
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY scripts/build_hook.py scripts/
COPY src src
COPY --from=browser /browser/node_modules/htmx.org/dist/htmx.min.js \
     /browser/node_modules/@fontsource/pt-serif/files/pt-serif-latin-700-normal.woff2 \
     /browser/node_modules/@fontsource/pt-serif/files/pt-serif-cyrillic-700-normal.woff2 \
     src/telegram_assistant/web/static/vendor/
COPY --from=browser /browser/node_modules/@fontsource/pt-serif/LICENSE src/telegram_assistant/web/static/vendor/pt-serif-license.txt
RUN tools/bin/pip wheel --quiet --no-cache-dir --no-deps --no-build-isolation --wheel-dir dist . \
 && tools/bin/pip --python /opt/telegram-assistant/bin/python install --quiet --no-cache-dir --no-compile --no-deps dist/*.whl
COPY deploy/image/slim.sh ./
RUN sh slim.sh /opt/telegram-assistant

# The process with the browser: no database, no secrets, its own dependencies (docs/pages.md).
FROM base AS crawler
ARG DEBIAN_FRONTEND=noninteractive
RUN apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium > /dev/null && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/telegram-assistant /opt/telegram-assistant
USER 10001:10001
WORKDIR /tmp
ENV HOME=/tmp
EXPOSE 8013
STOPSIGNAL SIGTERM
ENTRYPOINT ["python", "-m", "telegram_assistant.crawling.crawler"]

FROM base AS program
ARG DEBIAN_FRONTEND=noninteractive
RUN apt-get update -qq && apt-get install -qq -y --no-install-recommends curl tesseract-ocr tesseract-ocr-rus > /dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/*.log /usr/share/doc /usr/share/man /usr/share/locale /usr/share/fonts /usr/share/X11 \
      /usr/share/tesseract-ocr/*/tessdata/osd.traineddata
COPY --from=build /opt/telegram-assistant /opt/telegram-assistant
USER 10001:10001
WORKDIR /data
ENV HTTP_HOST=0.0.0.0 FILES_DIR=/data/files MEDIA_SPOOL_DIR=/data/spool MODELS_DIR=/data/models
VOLUME ["/data"]
EXPOSE 8000 8011 8012
STOPSIGNAL SIGTERM
# All roles in one container. Some engines restart what is unhealthy, which does not help a process that waits for its servers: so this asks
# whether it lives. compose.yaml asks each of its services whether it is ready: Compose only shows that and waits for it.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD curl -fsS "http://127.0.0.1:${API_PORT:-8000}/livez" || exit 1
ENTRYPOINT ["tga"]
CMD ["run"]
