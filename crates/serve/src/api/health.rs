//! `/.well-known/heartbeat` and `/.well-known/health`: whether the server runs, and what it uses.
//!
//! The fields of `health` have the names of scrape, whose monitors read them. Varve is not a Go
//! program: threads stand for goroutines, and there is no garbage collector, so its fields are 0.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use chrono::SecondsFormat;
use http::StatusCode;
use serde_json::json;

use super::json_output;
use crate::app_state::AppState;
use crate::response;

pub(super) async fn heartbeat() -> Response {
    response::text(StatusCode::OK, "text/plain; charset=utf-8", "OK")
}

pub(super) async fn health(State(state): State<Arc<AppState>>) -> Response {
    let usage = ProcessUsage::read();
    let report = json!({
        "application": {
            "start_time": state.started.to_rfc3339_opts(SecondsFormat::Secs, true),
            "goroutine_count": usage.threads,
        },
        "memory": {
            "application_total_mb": usage.resident_kib >> 10,
            "heap_system_mb": usage.data_kib >> 10,
            "heap_allocated_mb": usage.anonymous_kib >> 10,
            "stack_system_mb": usage.stack_kib >> 10,
            "stack_in_use_mb": usage.stack_kib >> 10,
            "seconds_since_last_gc": 0,
            "gc_count": 0,
        },
    });
    json_output::object(StatusCode::OK, &report, true)
}

/// What the process uses, as Linux reports it; 0 on other systems.
#[derive(Debug, Default, PartialEq, Eq)]
struct ProcessUsage {
    threads: u64,
    /// Memory in RAM.
    resident_kib: u64,
    /// The part of it that is no file.
    anonymous_kib: u64,
    /// Address space for data.
    data_kib: u64,
    /// The stack of the main thread.
    stack_kib: u64,
}

impl ProcessUsage {
    fn read() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/self/status").unwrap_or_default())
    }

    fn parse(status: &str) -> Self {
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|value| value.split_whitespace().next()?.parse().ok()).unwrap_or(0)
        };
        Self {
            threads: number("Threads"),
            resident_kib: number("VmRSS"),
            anonymous_kib: number("RssAnon"),
            data_kib: number("VmData"),
            stack_kib: number("VmStk"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_read_from_the_status_of_a_process() {
        let status = "Name:\tvarve\nVmRSS:\t   20480 kB\nRssAnon:\t 10240 kB\nVmStk:\t132 kB\nThreads:\t7\n";
        let usage = ProcessUsage::parse(status);
        let wanted = ProcessUsage {
            threads: 7,
            resident_kib: 20480,
            anonymous_kib: 10240,
            data_kib: 0,
            stack_kib: 132,
        };
        assert_eq!(usage, wanted);
    }
}
