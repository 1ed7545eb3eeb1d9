"""The engine over HTTP: start at :func:`runtime.faces.http.app.http_app`."""
