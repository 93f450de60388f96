"""The clients of providers: GigaChat, and servers with the API of OpenAI."""
