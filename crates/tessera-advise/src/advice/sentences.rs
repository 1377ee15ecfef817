//! The sentences of the advice. The other files choose among them.

use std::fmt::Display;

/// Replaces each `{}` by a value.
pub(super) fn fill(sentence: &str, values: &[&dyn Display]) -> String {
    let mut parts = sentence.split("{}");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.zip(values).fold(first, |filled, (part, value)| format!("{filled}{value}{part}"))
}

macro_rules! sentences {
    ($($name:ident: $text:literal)*) => { $(pub(super) const $name: &str = $text;)* };
}

sentences! {
    // Why a way is ruled out.
    NO_REGISTER: "with a register of used tickets it is (d'), and without one no deployment needs it"
    SENDS_NONE: "accepts such early data, but sends none: it would resume as in (c)"
    CONTINUES_WITH_DHE: "continues with psk_dhe_ke after early data"
    NO_PSK_KE: "has no psk_ke without early data"
    NO_REPLAYABLE: "has no replayable early data"
    IS_HYBRID: "uses X25519MLKEM768 if both ends have it"
    EARLIER_CERTIFICATES: "a ticket stands for the certificates of an earlier connection"
    NO_TICKETS: "the peer has no tickets"
    STOCK_PEER: "both ends must follow docs/0rtt-fs.md; a stock peer resumes as in (c)"
    NO_EARLY_REQUEST: "no request may go with the first flight"
    PSK_KEPT: "a one-time PSK is forward-secret only as far as both ends, and their backups, delete it"
    NO_ADVERSARY: "no adversary was measured against it"
    OPENS_SESSION: "an attacker who steals a ticket key later reads the whole session"
    OPENS_EARLY_DATA: "an attacker who steals a ticket key later reads the early data"
    NOT_ACCEPTED_SECRECY: "no-forward-secrecy wasn't accepted"
    NOT_ACCEPTED_EARLY_DATA: "early-data-without-forward-secrecy wasn't accepted"
    NOT_ACCEPTED_REPLAY: ", and replay wasn't accepted"
    NOT_ACCEPTED_KEY_EXCHANGE: "an attacker who reads the server's vault before a flight arrives reads the whole \
                                connection, and early-key-exchange wasn't accepted"
    EXECUTED: "the adversary had one request executed {}×"
    OWN_REGISTERS: " by one server, and each of {} has its own register"
    QUANTUM_OPENS_IT: "a quantum computer opens recordings of it"
    TOO_LONG: "the server computes {} longer than allowed"
    HOLDS: "the server holds {} bytes for each connection"
    STORE_TOO_FAR: "a take waits for the store as long as the round trip that it saves"
    // Why a permitted way was not chosen.
    NO_TIMES: "it may be used, but the evidence has no times of it here"
    MAY_BUT: "it may be used, but {}: {}"
    MAY_BUT_NO_SAVING: "it may be used, but saves nothing for certain compared with the answer"
    // Why there is no advice.
    SIX_NEEDED: "six samples are needed before anything counts as certain"
    TOO_MANY_FAILED: "too many failed for anything to count as certain"
    UNMEASURED: "the evidence lacks what {} takes at {} ms: {}; {}"
    NOT_OVER_A_LINK: "its responses and processor times weren't measured over a link"
    ONE_ROUND_TRIP_TIME: "it was measured at {} ms alone, and a second round-trip time is needed"
    NOT_ATTACKED_OR_TIMED: "its processor times weren't measured, or it wasn't attacked"
    TOO_FEW: "{} of {}: {}; {}"
    NO_WAY_FITS: "server-processor: no permitted way fits; the server exceeds its limit by {}. Give it more time, or \
                  leave the limit out"
    // Where a way begins to pay off.
    PAYS_ANYWHERE: "at any round-trip time"
    PAYS_FROM: "from a round-trip time of {} on"
    PAYS_NOWHERE: "at no round-trip time"
    PAYS_AT_ONCE: ", from the first reconnection on"
    PAYS_IF_OFTEN: ", if it reconnects {} or more often"
    NEVER_OFTEN_ENOUGH: ", at no number of reconnections"
    SAVES_ROUND_TRIP: "each request that waits saves the round trip ({} here)"
    NO_REQUEST_WAITS: "the saved round trip is worth nothing, since no request waits"
    NO_CERTIFICATES: "certificates are neither sent nor checked"
    NO_KEY: "no key is agreed"
    OTHER_WORK: "it is other work"
    SAVES_PROCESSOR: "{}; that saves no round trip, but processor time and bytes"
    PROCESSOR_PRICE: "{}, and a second of processor counts as {} of waiting"
    ISSUING_IN_ETCD: "the processor time to issue a ticket in etcd isn't known: `lab roaming` measures it by the clock, \
                      which includes the wait for etcd's disk; without it a reconnection costs this"
    ISSUING: "the cost of issuing its tickets wasn't measured, and free tickets would flatter it; without them a \
              reconnection costs this"
    TWO_ROUND_TRIP_TIMES: "a limit needs measurements at two round-trip times, and there is one; there a reconnection \
                           costs this"
    // The summary.
    OF_OTHER: "; of ({}) {}: {}"
    OTHER_UNMEASURED: "; ({}) may be used, but wasn't measured"
    SET: "set: {} ({})"
    SAVES: "saves: {}, against ({}){}{}"
    SAVES_NOTHING: "saves: nothing; the other ways are compared with this one"
    SAVES_UNKNOWN: "saves: not known, since {} wasn't measured"
    ON_AVERAGE: ", on average: one of {} reconnections finds its server, the others resume as in ({})"
    RISKS: "risks: {}"
    RISKS_UNKNOWN: "risks: not known; it wasn't attacked"
    NO_RISKS: "risks: the lab's adversary found none"
    REPLAYED_AT_ONE: "a replayed request was executed {}× by one server, and each of {} has its own register"
    REPLAYED: "a replayed request was executed {} times"
    SESSIONS_OPEN: "an attacker who steals a ticket key later reads whole sessions"
    EARLY_DATA_OPEN: "an attacker who steals a ticket key later reads early data"
    UNTIL_DELETED: "early data is protected only once both ends have really deleted the PSK"
    BOTH_ARE: "early data and its session are"
    EARLY_DATA_IS: "early data is"
    UNTIL_EPOCH_ENDS: "{} readable for an attacker who steals its key from etcd, and the epoch's key before that epoch \
                       ends (docs/vaults.md)"
    CONNECTION_OPEN: "an attacker who reads the server's vault before a flight arrives, or steals the key of a lost one \
                      while it lives ({}), reads the whole connection"
    LOST_FLIGHT_OPEN: "a lost flight is readable for an attacker who steals its key while that lives ({})"
    QUANTUM_OPENS: "a quantum computer opens recordings"
    ATTACKED_IN_MEMORY: "it was attacked with keys in memory, not in etcd"
    // The way to reconnect.
    NO_RESUMPTION: "{} rules resumption out: {}"
    NO_SAVING: "no way of resuming saves anything for certain"
    LEAST_WORK: "the owner gave up forward secrecy, and this is the least work"
    TICKET_SAVES: "a ticket saves the certificates, and no permitted way saves more for certain at {} ms"
    EARLY_BY_CONSENT: "a request goes with the first flight, which saves a round trip of {} ms; the owner accepted what \
                       that gives up"
    EARLY_ONCE: "a request goes with the first flight, which saves a round trip of {} ms; it is forward-secret from {} \
                 on, and executed at most once"
    THE_TAKE: "the take"
    EPOCH_END: "the end of the epoch in which its key was stored"
    // Keys and continuations.
    RECORDINGS_KEPT: "recordings are kept, and a quantum computer would open X25519's"
    CLASSICAL_IS_CHEAPER: "post-quantum confidentiality isn't required, and would cost the difference"
    NO_KEY_EXCHANGE: "none; {} in what it falls back to"
    LEAVING_IT_OUT: "leaving it out saves nothing for certain"
    HYBRID_ALL_THE_SAME: "post-quantum confidentiality isn't required; {}"
    EARLY_DATA_RECORDED: "early data that is recorded must stay closed to quantum computers too"
    CLASSICAL_SUFFICES: "post-quantum confidentiality isn't required"
    PSK_DELETED: "both ends really delete it, and no public-key work is left"
    DHE_OPENS: "the session is protected like its early data, and a classical key exchange in addition would open it to \
                what the facts rule out"
    DHE_COSTS: "the session is as forward-secret as its early data, and a second key exchange costs more than the \
                measurement is uncertain by"
    DHE_IS_CHEAP: "the handshake has its own key exchange, and leaving it out saves nothing for certain"
    // Lifetimes.
    KEY_IN_TIME: "{} of 100 reconnections come within it, if connections break independently; the others go by the \
                  sealed ticket, at this price; a lost flight stays readable for an attacker who steals its key until {}"
    THEN: "then"
    ITS_EPOCH_ENDS: "its epoch ends"
    SEPP_HAS_NO_KEY: "; a SEPP has no key for it"
    TUNNEL_HAS_NO_KEY: "; a tunnel has no key for it"
    KEY_TOO_LATE: "when the key is too late"
    TICKET_IN_TIME: "{} of 100 reconnections come within it; the others are full handshakes, at this price"
    TICKET_TOO_LATE: "when the ticket is too late"
    // Stores.
    WAY_TO_STORE: "the way to the store, by the facts"
    IN_ETCD: "etcd, its values under epoch keys"
    ANY_SERVER: "any of the servers takes the key; a take waits for the store, which is nearer than the client"
    IN_SITES: "the memory of each server; between them the channel of docs/sites.md"
    NO_SHARED_STORE: "the servers share no store: a forward-secret ticket opens where it was issued, elsewhere its \
                      sealed ticket resumes at this price, if they share ticket keys and that channel; if not, the \
                      flight is `unknown`"
    AT_ANOTHER: "at another server"
    IN_EACH_MEMORY: "the memory of each server"
    SAME_SERVER: "a client returns to the server that it left; a key that is lost with that server costs a round trip, \
                  and never a replay"
    IN_MEMORY: "the server's memory"
    ONE_SERVER: "one server answers; a key that is lost with it costs a round trip, and never a replay"
    HELD_FOR_ONE: "in the server's memory for one connection"
    HELD_FOR_ALL: "in the server's memory for {} connections"
    // Early requests.
    ATTACKED_ONE_SERVER: "a request whose flight an adversary replayed to one server was executed"
    ATTACKED: "a request whose flight an adversary replayed was executed"
    NONE_EARLY: "none is early"
    NOTHING_BEFORE: "this way sends nothing before the handshake"
    REPEATABLE_ONES: "those that may be repeated"
    MAY_BE_REPEATED: "a request whose verdict leaves its outcome open may be sent again"
    ANY_ONCE: "any of them, once"
    VERDICTS: "the server executes a flight at most once, and a rejected one brings a verdict: a burned flight was not \
               executed and may be sent again; a used or unknown one may have been, which the application must resolve"
    MAY_EXECUTE_TOO: "; each of {} servers has its own register of used tickets, and may execute it as often"
    // All connections at once.
    OF_WHICH_FAILED: ", {} of which failed"
    IN_A_STORM: "in a storm of {}{}"
    ONE_AFTER_ANOTHER: "one after the other"
    PROCESSOR_FOR_ALL: "server's processor for all, measured {}"
    OF_ONE_PROCESSOR: "{} of one processor"
    NOT_MEASURED: "not measured"
    ONE_RECONNECTS: "one connection reconnects after a fail-over"
    ALL_RECONNECT: "{} connections reconnect at once after a fail-over"
    STORM_FAILED: "; a storm of {} in ({}) doesn't count: {} failed"
}
