//! What the client's application does: it sends one message after the other, each when the one before it was
//! acknowledged.

use std::time::Duration;

/// How long a message is, in bytes: its number, and zeros.
pub(crate) const MESSAGE_LEN: usize = 64;

/// How the client notices that its path has gone.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Detection {
    /// No acknowledgement for a fixed time.
    Timeout,
    /// None for three round trips.
    Rtt3,
    /// The interface reports that it is up, or down; otherwise the fixed time.
    Event,
}

/// What is asked of the application.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    pub(crate) acks: u32,
    /// The least time between two messages.
    pub(crate) pace: Duration,
    /// How long an acknowledgement is awaited.
    pub(crate) timeout: Duration,
    pub(crate) detection: Detection,
}

/// The application.
pub(super) struct Application {
    task: Task,
    /// The number of the message that is next, or under way.
    number: u32,
    /// When the newest message was due, and last sent.
    was_due: Option<Duration>,
    last_sent: Duration,
    is_under_way: bool,
    was_sent_again: bool,
    round_trip: Option<Duration>,
}

impl Application {
    pub(super) fn new(task: Task) -> Self {
        Self {
            task,
            number: 0,
            was_due: None,
            last_sent: Duration::ZERO,
            is_under_way: false,
            was_sent_again: false,
            round_trip: None,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.number == self.task.acks
    }

    pub(super) fn detection(&self) -> Detection {
        self.task.detection
    }

    /// Whether a message waits for its acknowledgement.
    pub(super) fn is_under_way(&self) -> bool {
        self.is_under_way
    }

    /// Returns when the next message may be sent.
    pub(super) fn due(&self) -> Option<Duration> {
        let waits = self.is_under_way || self.is_done();
        (!waits).then(|| self.was_due.map_or(Duration::ZERO, |due| due + self.task.pace))
    }

    /// Returns when the message under way is given up.
    pub(super) fn timeout(&self) -> Option<Duration> {
        let after = match self.task.detection {
            Detection::Rtt3 => {
                self.round_trip.map_or(self.task.timeout, |trip| (trip * 3).max(LEAST_TIMEOUT))
            }
            Detection::Timeout | Detection::Event => self.task.timeout,
        };
        self.is_under_way.then(|| self.last_sent + after)
    }

    /// Returns the message that is sent now, and its number.
    pub(super) fn send(&mut self, now: Duration) -> (u32, [u8; MESSAGE_LEN]) {
        self.was_sent_again = self.is_under_way;
        if let Some(due) = self.due() {
            // What a timer is late doesn't add up.
            let is_late = self.was_due.is_none() || now.saturating_sub(due) > LATE;
            self.was_due = Some(if is_late { now } else { due });
        }
        self.is_under_way = true;
        self.last_sent = now;
        let mut message = [0; MESSAGE_LEN];
        message[..4].copy_from_slice(&self.number.to_be_bytes());
        (self.number, message)
    }

    /// Takes an acknowledgement; returns its number if it is new.
    pub(super) fn acknowledge(&mut self, data: &[u8], now: Duration) -> Option<u32> {
        let number = u32::from_be_bytes(data.try_into().ok()?);
        if number != self.number || !self.is_under_way {
            return None;
        }
        // RFC 6298 §3: the acknowledgement of a message that was sent twice measures nothing.
        if !self.was_sent_again {
            let measured = now - self.last_sent;
            let smooth = |before: Duration| (before * 7 + measured) / 8;
            self.round_trip = Some(self.round_trip.map_or(measured, smooth));
        }
        self.is_under_way = false;
        self.number += 1;
        Some(number)
    }
}

/// A timer may be this late without moving the messages after it.
const LATE: Duration = Duration::from_millis(20);

/// The shortest time-out of three round trips.
const LEAST_TIMEOUT: Duration = Duration::from_millis(20);

/// Returns how a server acknowledges a message.
pub(crate) fn acknowledgement(message: &[u8]) -> Option<&[u8]> {
    (message.len() == MESSAGE_LEN).then(|| &message[..4])
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn application(detection: Detection) -> Application {
        Application::new(Task { acks: 2, pace: MS * 100, timeout: MS * 1000, detection })
    }

    fn acknowledge(application: &mut Application, number: u32, now: Duration) -> Option<u32> {
        application.acknowledge(&number.to_be_bytes(), now)
    }

    #[test]
    fn a_message_follows_the_acknowledgement_of_the_one_before_and_a_pace() {
        let mut application = application(Detection::Timeout);
        assert_eq!(application.due(), Some(Duration::ZERO));
        let (number, message) = application.send(MS * 5);
        assert_eq!((number, acknowledgement(&message).unwrap()), (0, &[0; 4][..]));
        assert_eq!((application.due(), application.timeout()), (None, Some(MS * 1005)));
        application.send(MS * 1005);
        assert_eq!(acknowledge(&mut application, 1, MS * 1010), None, "not sent yet");
        assert_eq!(acknowledge(&mut application, 0, MS * 1010), Some(0));
        assert_eq!(acknowledge(&mut application, 0, MS * 1011), None, "again");
        assert_eq!((application.due(), application.timeout()), (Some(MS * 105), None));
        application.send(MS * 1010);
        assert_eq!(acknowledge(&mut application, 1, MS * 1020), Some(1));
        assert!(application.is_done() && application.due().is_none());
    }

    #[test]
    fn a_late_timer_does_not_move_the_messages_after_it_and_a_late_acknowledgement_does() {
        let mut application = application(Detection::Timeout);
        application.task.acks = 4;
        for (number, (sent, next)) in [(5, 105), (110, 205), (230, 330)].into_iter().enumerate() {
            application.send(MS * sent);
            acknowledge(&mut application, number as u32, MS * (sent + 1));
            assert_eq!(application.due(), Some(MS * next));
        }
    }

    #[test]
    fn three_round_trips_are_measured_by_messages_that_were_sent_once() {
        let mut application = application(Detection::Rtt3);
        application.send(Duration::ZERO);
        assert_eq!(application.timeout(), Some(MS * 1000), "none is measured");
        application.send(MS * 1000);
        acknowledge(&mut application, 0, MS * 1001);
        application.send(MS * 1001);
        assert_eq!(application.timeout(), Some(MS * 2001), "of which was it?");
        acknowledge(&mut application, 1, MS * 1041);
        application.task.acks = 3;
        application.send(MS * 2000);
        assert_eq!(application.timeout(), Some(MS * 2120));
    }
}
