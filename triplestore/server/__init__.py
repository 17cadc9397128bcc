"""`triplake serve`: a store over HTTP. SPARQL 1.1 Protocol and Graph Store Protocol, a web page, and what people who
run servers ask for: limits, authentication, an access log.

    settings  what can be set            negotiation  media types        faults   errors as answers
    work      threads, queues, limits    guard        who may do what    bodies   reading what was sent
    protocol  /sparql   graph_store  /data   facts, proofs  /api for the page    openapi, description   about itself
    app       all of it as one ASGI application                          run      on a socket
"""
