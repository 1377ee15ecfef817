//! Spare connections, in virtual time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, DuplexStream, duplex};

use super::*;
use crate::metrics::Role;

/// Makes pipes, and keeps their far ends.
#[derive(Clone, Default)]
struct Pipes(Arc<Ends>);

#[derive(Default)]
struct Ends {
    far: Mutex<Vec<DuplexStream>>,
    generation: AtomicU64,
    is_away: AtomicBool,
    asked: AtomicU64,
}

impl Source for Pipes {
    type Stream = DuplexStream;

    async fn connect(&self) -> io::Result<DuplexStream> {
        self.0.asked.fetch_add(1, Ordering::Relaxed);
        if self.0.is_away.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (near, far) = duplex(64);
        self.0.far.lock().unwrap().push(far);
        Ok(near)
    }

    fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Relaxed)
    }
}

impl Pipes {
    /// Takes the far end of the pipe that was made at this position.
    fn far(&self, index: usize) -> DuplexStream {
        let (_, unused) = duplex(1);
        mem::replace(&mut self.0.far.lock().unwrap()[index], unused)
    }
}

struct Pool {
    pipes: Pipes,
    metrics: Arc<TunnelMetrics>,
    pool: SparePool<Pipes>,
}

impl Pool {
    async fn filled(count: usize) -> Self {
        let (pipes, metrics) = (Pipes::default(), TunnelMetrics::unregistered(Role::Client));
        let pool = SparePool::new(pipes.clone(), count, metrics.clone());
        let this = Self { pipes, metrics, pool };
        this.until(SpareEvent::Filled, count as u64).await;
        this
    }

    /// Waits until the event was counted this often. Virtual time passes while all is idle.
    async fn until(&self, event: SpareEvent, count: u64) {
        while self.metrics.spare_events(event) < count {
            sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(self.metrics.spare_events(event), count, "{event:?}");
    }
}

async fn check_pipe(mut near: DuplexStream, mut far: DuplexStream) {
    near.write_all(b"question").await.unwrap();
    let mut question = [0; 8];
    far.read_exact(&mut question).await.unwrap();
    assert_eq!(&question, b"question");
}

#[tokio::test(start_paused = true)]
async fn a_pool_is_filled_used_and_refilled() {
    let pool = Pool::filled(1).await;
    let spare = pool.pool.take().unwrap();
    assert!(spare.received.is_empty());
    check_pipe(spare.stream, pool.pipes.far(0)).await;
    assert!(pool.pool.take().is_none(), "one was kept");
    pool.until(SpareEvent::Filled, 2).await;
    check_pipe(pool.pool.take().unwrap().stream, pool.pipes.far(1)).await;
    assert_eq!(pool.metrics.spare_events(SpareEvent::Used), 2);
    assert_eq!(pool.metrics.spare_events(SpareEvent::Missed), 1);
}

#[tokio::test(start_paused = true)]
async fn the_newest_is_given_out_first() {
    let pool = Pool::filled(3).await;
    pool.pool.take().unwrap();
    sleep(Duration::from_secs(1)).await;
    check_pipe(pool.pool.take().unwrap().stream, pool.pipes.far(3)).await;
}

#[tokio::test(start_paused = true)]
async fn a_servers_first_bytes_come_along() {
    let pool = Pool::filled(2).await;
    let mut far = pool.pipes.far(1);
    // More than the pipe holds: the keeper must read it.
    far.write_all(&[7; 100]).await.unwrap();
    far.write_all(b"ready").await.unwrap();
    let words = [&[7; 100][..], b"ready"].concat();
    let mut spares = [pool.pool.take().unwrap(), pool.pool.take().unwrap()];
    spares.sort_by_key(|spare| spare.received.len());
    assert_eq!([&spares[0].received[..], &spares[1].received], [&b""[..], &words]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_sends_much_is_not_read_to_the_end() {
    let pool = Pool::filled(1).await;
    let mut far = pool.pipes.far(0);
    let writing = timeout(Duration::from_secs(1), far.write_all(&[7; 2 * MAX_RECEIVED]));
    assert!(writing.await.is_err());
    let mut spare = pool.pool.take().unwrap();
    assert_eq!(spare.received.len(), MAX_RECEIVED);
    // The part that did not fit before arrives now.
    assert_eq!(spare.stream.read(&mut [0; 512]).await.unwrap(), 64);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_the_server_ended_is_not_given_out_but_replaced() {
    let pool = Pool::filled(2).await;
    // Before any keeper could notice.
    drop((pool.pipes.far(0), pool.pipes.far(1)));
    assert!(pool.pool.take().is_none());
    assert_eq!(pool.metrics.spare_events(SpareEvent::Ended), 2);
    pool.until(SpareEvent::Filled, 4).await;
    // This time its keeper notices.
    drop(pool.pipes.far(2));
    pool.until(SpareEvent::Ended, 3).await;
    pool.until(SpareEvent::Filled, 5).await;
}

#[tokio::test(start_paused = true)]
async fn a_reload_replaces_all_and_notifies_the_server() {
    let pool = Pool::filled(2).await;
    pool.pipes.0.generation.fetch_add(1, Ordering::Relaxed);
    assert!(pool.pool.take().is_none(), "of an earlier configuration");
    pool.pool.renew();
    pool.until(SpareEvent::Withdrawn, 2).await;
    assert_eq!(pool.pipes.far(0).read(&mut [0]).await.unwrap(), 0);
    pool.until(SpareEvent::Filled, 4).await;
    assert!(pool.pool.take().is_some());
}

#[tokio::test(start_paused = true)]
async fn an_old_connection_is_replaced() {
    let pool = Pool::filled(1).await;
    sleep(MAX_AGE * 2 / 3).await;
    assert_eq!(pool.metrics.spare_events(SpareEvent::Aged), 0);
    pool.until(SpareEvent::Aged, 1).await;
    assert_eq!(pool.pipes.far(0).read(&mut [0]).await.unwrap(), 0);
    pool.until(SpareEvent::Filled, 2).await;
}

/// Virtual time: 10 minutes, with pauses of at most 10 seconds.
#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_is_asked_less_and_less_often() {
    let pool = Pool::filled(1).await;
    pool.pipes.0.is_away.store(true, Ordering::Relaxed);
    assert!(pool.pool.take().is_some());
    sleep(Duration::from_secs(600)).await;
    let asked = pool.pipes.0.asked.load(Ordering::Relaxed);
    assert!((50..100).contains(&asked), "{asked} times");
    pool.pipes.0.is_away.store(false, Ordering::Relaxed);
    pool.until(SpareEvent::Filled, 2).await;
    assert!(pool.pool.take().is_some());
}

/// The same for a server that accepts connections and closes them.
#[tokio::test(start_paused = true)]
async fn a_server_that_ends_each_at_once_is_asked_less_and_less_often() {
    let pool = Pool::filled(1).await;
    let until = Instant::now() + Duration::from_secs(600);
    while Instant::now() < until {
        pool.pipes.0.far.lock().unwrap().clear();
        sleep(Duration::from_millis(10)).await;
    }
    let asked = pool.pipes.0.asked.load(Ordering::Relaxed);
    assert!((50..100).contains(&asked), "{asked} times");
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_is_closed_ends_its_connections() {
    let pool = Pool::filled(3).await;
    pool.pool.close().await;
    for index in 0..3 {
        assert_eq!(pool.pipes.far(index).read(&mut [0]).await.unwrap(), 0);
    }
    assert_eq!(pool.pipes.0.asked.load(Ordering::Relaxed), 3);
}

#[test]
fn jitter_takes_away_a_quarter_at_most() {
    let times: Vec<_> = (0..100).map(|_| jitter(Duration::from_secs(4))).collect();
    let range = Duration::from_secs(3)..=Duration::from_secs(4);
    assert!(times.iter().all(|time| range.contains(time)));
    assert!(times.iter().any(|time| time != &times[0]));
}
