//! Many requests while proxies come and go.

use std::time::Duration;

use tokio::time::sleep;

use crate::common::{BOTH, Proxy, World, get, post};

/// Requests that overlap, while A sends the client to B, B to A, and B dies and returns: each is executed
/// once if it is answered, and once at most if it fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_is_executed_twice() {
    for protocol in BOTH {
        let (world, a, b) = World::with_two(protocol).await;
        let client = world.client();
        let asking: Vec<_> = (0..8)
            .map(|task| {
                let client = client.clone();
                tokio::spawn(async move {
                    let mut answers = Vec::new();
                    for round in 0..60 {
                        let path = format!("/{task}/{round}");
                        let answer = match round % 2 {
                            0 => get(&client, &path).await,
                            _ => post(&client, &path, "body").await,
                        };
                        answers.push((path, answer.map(|answer| answer.by)));
                        sleep(Duration::from_millis(1)).await;
                    }
                    answers
                })
            })
            .collect();
        // The pauses after failures are longer than the storm: B has a new name each time.
        let mut proxies = vec![b];
        for life in 0..6 {
            sleep(Duration::from_millis(25)).await;
            proxies.last_mut().unwrap().kill().await;
            let host = format!("b{life}.example");
            let next = world.proxy(&host).await;
            next.announce(&world.alternative("a.example", 60));
            a.announce(&world.alternative(&host, 60));
            proxies.push(next);
        }
        let times = |path: &str| -> usize {
            proxies.iter().chain([&a]).map(|proxy: &Proxy| proxy.times(path)).sum()
        };
        let (mut answered, mut moved) = (0, 0);
        for task in asking {
            for (path, answer) in task.await.unwrap() {
                match answer {
                    Ok(by) => {
                        assert_eq!(times(&path), 1, "{path} by {by}");
                        answered += 1;
                        moved += usize::from(by != "a.example");
                    }
                    Err(error) => assert!(times(&path) <= 1, "{path}: {error:?}"),
                }
            }
        }
        assert!(answered > 240 && moved > 20, "{answered} answered, {moved} by B");
    }
}
