//! Random streams, checked against the expected output.

use std::io::ErrorKind;

use tessera_proxy::pump::{End, PumpOperation, Side, pump};

use super::peer::{ScriptedStream, Turn};

/// A pseudorandom sequence, the same for the same seed (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> usize {
        (self.next() % bound) as usize
    }

    /// Returns a stream's turns, all of its bytes, and how it ends.
    fn script(&mut self) -> (Vec<Turn>, Vec<u8>, bool) {
        let (mut turns, mut all) = (Vec::new(), Vec::new());
        for _ in 0..self.below(12) {
            if self.below(3) == 0 {
                turns.push(Turn::NotYet);
            } else {
                // Around the sizes of records and buffers, and small ones.
                let len = match self.below(4) {
                    0 => 1 + self.below(10),
                    1 => 1 + self.below(1 << 14),
                    2 => (1 << 16) - 3 + self.below(6),
                    _ => 1 + self.below(200_000),
                };
                let bytes: Vec<u8> = (0..len).map(|_| self.next() as u8).collect();
                all.extend_from_slice(&bytes);
                turns.push(Turn::Bytes(bytes));
            }
        }
        let fails = self.below(5) == 0;
        turns.push(if fails { Turn::Error(ErrorKind::ConnectionReset) } else { Turn::End });
        (turns, all, fails)
    }
}

/// Accepts random amounts at random times.
struct RandomStream {
    inner: ScriptedStream,
    random: Random,
}

mod moody {
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

    use super::RandomStream;

    impl RandomStream {
        /// Whether it must be polled again.
        fn waits(&mut self, cx: &Context<'_>) -> bool {
            let waits = self.random.below(3) == 0;
            if waits {
                cx.waker().wake_by_ref();
            }
            waits
        }
    }

    impl AsyncRead for RandomStream {
        fn poll_read(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.get_mut().inner).poll_read(cx, buffer)
        }
    }

    impl AsyncWrite for RandomStream {
        fn poll_write(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            data: &[u8],
        ) -> Poll<io::Result<usize>> {
            let this = self.get_mut();
            if this.waits(cx) {
                return Poll::Pending;
            }
            let count = 1 + this.random.below(data.len() as u64);
            Pin::new(&mut this.inner).poll_write(cx, &data[..count])
        }

        fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            let this = self.get_mut();
            if this.waits(cx) {
                return Poll::Pending;
            }
            Pin::new(&mut this.inner).poll_flush(cx)
        }

        fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            let this = self.get_mut();
            if this.waits(cx) {
                return Poll::Pending;
            }
            Pin::new(&mut this.inner).poll_shutdown(cx)
        }
    }
}

#[tokio::test]
async fn whatever_the_schedule_bytes_arrive_once_and_in_order() {
    let (mut closed, mut failed, mut early) = (0, 0, 0);
    for seed in 0..200 {
        let mut random = Random(seed);
        let mut side = || {
            let (turns, all, fails) = random.script();
            let mut inner = ScriptedStream::reading(turns);
            if random.below(4) == 0 {
                // Possibly more than ever arrives.
                inner = inner.taking(random.below(500_000), Turn::Error(ErrorKind::BrokenPipe));
            }
            (RandomStream { inner, random: Random(random.next()) }, all, fails)
        };
        let (mut a, from_a, a_fails) = side();
        let (mut b, from_b, b_fails) = side();
        let pumped = pump(&mut a, &mut b).await;
        let (to_a, to_b) = (a.inner.written.lock().unwrap(), b.inner.written.lock().unwrap());
        assert!(from_a.starts_with(&to_b.bytes), "seed {seed}");
        assert!(from_b.starts_with(&to_a.bytes), "seed {seed}");
        assert_eq!(pumped.a_to_b, to_b.bytes.len() as u64, "seed {seed}");
        assert_eq!(pumped.b_to_a, to_a.bytes.len() as u64, "seed {seed}");
        match pumped.end {
            End::Closed { .. } => {
                assert!(!a_fails && !b_fails, "seed {seed}");
                assert!(to_b.bytes == from_a && to_a.bytes == from_b, "seed {seed}");
                assert!(to_a.is_shut_down && to_b.is_shut_down, "seed {seed}");
                closed += 1;
            }
            End::Failed { side, doing: PumpOperation::Reading, .. } => {
                let (fails, other) = match side {
                    Side::A => (a_fails, &to_b),
                    Side::B => (b_fails, &to_a),
                };
                assert!(fails && !other.is_shut_down, "seed {seed}");
                failed += 1;
            }
            End::Failed { side, doing: PumpOperation::Writing, .. } => {
                let (to, other) = match side {
                    Side::A => (&a.inner, &to_b),
                    Side::B => (&b.inner, &to_a),
                };
                assert!(to.takes.is_some() && !other.is_shut_down, "seed {seed}");
                failed += 1;
            }
            End::EndedEarly { side, .. } => {
                let (to, all, other) = match side {
                    Side::A => (&a.inner, &from_a, &to_b),
                    Side::B => (&b.inner, &from_b, &to_a),
                };
                assert!(to.takes.is_some() && other.is_shut_down, "seed {seed}");
                assert!(other.bytes == *all, "seed {seed}: all of its last words");
                early += 1;
            }
        }
    }
    assert!(
        closed > 20 && failed > 20 && early > 5,
        "{closed} closed, {failed} failed, {early} ended early"
    );
}
