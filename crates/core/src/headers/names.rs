//! Properties of header names: which headers depend on the order of their values, and which change
//! without meaning. Names are in lower case, as in views.

/// Headers whose meaning depends on the order of their values.
const ORDER_SENSITIVE: [&str; 3] = ["proxy-authenticate", "set-cookie", "www-authenticate"];

/// Headers about the transport of a response, not about its content.
const BENIGN_HEADERS: [&str; 35] = [
    "accept-ranges",
    "age",
    "cf-cache-status",
    "cf-ray",
    "connection",
    "content-encoding",
    "content-length",
    "date",
    "etag",
    "keep-alive",
    "last-modified",
    "server",
    "server-timing",
    "traceparent",
    "tracestate",
    "transfer-encoding",
    "vary",
    "via",
    "x-amz-cf-id",
    "x-amz-cf-pop",
    "x-amz-id-2",
    "x-amz-request-id",
    "x-b3-flags",
    "x-b3-parentspanid",
    "x-b3-sampled",
    "x-b3-spanid",
    "x-b3-traceid",
    "x-cache",
    "x-cache-hits",
    "x-correlation-id",
    "x-request-id",
    "x-response-time",
    "x-runtime",
    "x-served-by",
    "x-timer",
];

/// Prefixes of further such headers.
const BENIGN_PREFIXES: [&str; 5] = ["cf-", "x-amz-", "x-cdn-", "x-cloud-trace-", "x-goog-"];

/// Whether the order of the header's values must be kept.
pub fn is_order_sensitive(name: &str) -> bool {
    ORDER_SENSITIVE.binary_search(&name).is_ok()
}

/// Whether a change of the header is noise: caches, tracing, transport.
pub fn is_benign(name: &str) -> bool {
    BENIGN_HEADERS.binary_search(&name).is_ok()
        || BENIGN_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted() {
        assert!(ORDER_SENSITIVE.is_sorted() && BENIGN_HEADERS.is_sorted());
    }

    #[test]
    fn families_are_benign() {
        assert!(is_benign("x-amz-anything") && is_benign("date") && !is_benign("content-type"));
    }
}
