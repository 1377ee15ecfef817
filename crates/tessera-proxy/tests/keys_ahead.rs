//! Key pairs made ahead by a process: made while it is idle, used by a burst, made again, and counted.
//!
//! A program of its own: a process has one set of them.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use tessera::wire::NamedGroup;
use tessera_proxy::admin::Metrics;
use tessera_proxy::keys_ahead::{KeyFiller, provider};
use tokio::task::yield_now;
use tokio::time::sleep;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_idle_process_makes_the_kinds_in_use_and_a_flood_makes_its_own() {
    let metrics = Metrics::new();
    let filler = KeyFiller::start(&metrics);
    let value = |series: &str| -> f64 {
        let text = metrics.text();
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{series} is not in\n{text}")).parse().unwrap()
    };
    let event = |event: &str| {
        value(&format!("tessera_keys_ahead_events_total{{kind=\"x25519\",event=\"{event}\"}}"))
    };
    let there = || value("tessera_keys_ahead{kind=\"x25519\"}");
    let becomes_full = async || {
        for _ in 0..600 {
            if there() == 128.0 {
                return;
            }
            sleep(Duration::from_millis(100)).await;
        }
        panic!("{} after a minute", there());
    };
    assert_eq!((filler.status(), there()), (None, 0.0));

    // The first is made on demand, and has the others made.
    let provider = provider(&[]);
    let group = provider.group(NamedGroup::X25519).expect("the provider has it");
    let mut seen = HashSet::new();
    let mut share = || {
        let share = group.generate().expect("a key").share().to_vec();
        assert!(seen.insert(share), "a key came twice");
    };
    share();
    let busy = tokio::spawn(async {
        // In steps, since a runtime updates its metrics after some sixty.
        for _ in 0..2500 {
            thread::sleep(Duration::from_millis(1));
            yield_now().await;
        }
    });
    busy.await.expect("it ends");
    assert_eq!(there(), 0.0, "a busy process makes none");
    becomes_full().await;
    assert_eq!(value("tessera_keys_ahead{kind=\"ml_kem_768\"}"), 0.0, "no handshake asked for it");

    // A flood without a pause.
    (0..1000).for_each(|_| share());
    assert!(event("used") >= 128.0, "{}", metrics.text());
    assert_eq!(event("used") + event("missed"), 1001.0);
    becomes_full().await;
    assert_eq!(event("made"), event("used") + event("wiped") + there());
    assert!(value("tessera_keys_ahead_cpu_seconds_total") > 0.0);
    assert_eq!(value("tessera_keys_ahead_failures_total"), 0.0);
    let status = filler.status().expect("keys were made");
    assert!(status.contains("made ahead ("), "{status}");

    drop(filler);
    // The task may be inside a step.
    for _ in 0..100 {
        if there() <= 1.0 {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("{} are left", there());
}
