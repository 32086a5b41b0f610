# Two images from one file:
#   docker build --target service -t lutra-service .
#   docker build --target agent   -t lutra-agent .
FROM python:3.11-slim AS build
RUN pip install --no-cache-dir uv==0.13.8 && uv venv /opt/lutra
WORKDIR /src
COPY requirements.lock ./
COPY models models
# Every version and hash comes from requirements.lock, also for what builds the wheels.
ENV INSTALL="uv pip install --no-cache --no-sources --compile-bytecode --python /opt/lutra/bin/python --constraint requirements.lock --build-constraint requirements.lock"

FROM build AS build-service
COPY client client
COPY service service
COPY public public
RUN $INSTALL "./models[gp]" ./public "./client[mcp]" "./service[postgresql,dask,parquet,public,mcp,apprise]"

FROM build AS build-agent
COPY agent agent
# Every engine's driver: the image serves whichever database its file names. Drivers of load generators are the lab's.
RUN $INSTALL ./models "./agent[postgresql,mysql,redis]"

FROM python:3.11-slim AS runtime
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/lutra lutra
ENV PATH=/opt/lutra/bin:$PATH PYTHONUNBUFFERED=1
WORKDIR /var/lib/lutra
USER lutra
VOLUME /var/lib/lutra

FROM runtime AS service
COPY --from=build-service /opt/lutra /opt/lutra
# TLS ends at the proxy in front; without one, give LUTRA_TLS_CERT and LUTRA_TLS_KEY instead.
ENV LUTRA_DATABASE_URL=sqlite:////var/lib/lutra/lutra.db LUTRA_BEHIND_TLS_PROXY=1
EXPOSE 8000
HEALTHCHECK CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
CMD ["sh", "-c", "lutra migrate && exec lutra serve --host 0.0.0.0 --port 8000"]

FROM runtime AS agent
COPY --from=build-agent /opt/lutra /opt/lutra
CMD ["lutra-agent", "run", "--config", "/etc/lutra/agent.toml"]
