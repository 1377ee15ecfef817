//! Several sites that share a ring: each has its own vault, and none takes from another's.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tessera::crypto::KeyForm;
use tessera::handshake::Reply;
use tessera::resume::{
    Absence, FlightHandle, Incarnation, PutRefused, PutSecret, TakeAnswer, TakeSecret, Vault,
};

use crate::messages::{
    Acknowledgement, ArrivalRefused, BurnAtHome, BurnMoved, Departure, MovedSecret, VaultLife,
};
use crate::moving::MovingVault;

/// How often a secret that moved on is followed.
const MOST_MOVES: usize = 4;

/// The vault of one of several sites (docs/0rtt-fs.md, section 11).
///
/// Secrets are put into this site's own vault, the *home* of their flights, and a flight is accepted only
/// there. A flight that arrives at another site falls back to an ordinary resumption, and the take becomes a
/// request to *burn* the secret at home. The client gets the verdict `burned`, and may send its data again,
/// only when home has acknowledged that; without an acknowledgement in time it gets `unknown`.
///
/// For its own secrets it acts as the home vault. For others, [`take`](Vault::take) leaves the question for
/// later ([`Reply::Later`]), and the driver of the connection awaits [`take_from_afar`](Self::take_from_afar)
/// for the answer. The home vault may also leave a take for later; [`is_home`](Self::is_home) distinguishes
/// the two.
///
/// At home, [`burn_for_another`](Self::burn_for_another) carries out requests from the channel.
///
/// With a [`MovingVault`], a client's secrets can move to another site ([`move_secrets`](Self::move_secrets)), where its flights
/// are accepted from then on.
///
/// A receipt names no site (`SettleReceipt`): away from home it is `unknown`.
pub struct SiteVault {
    home: Arc<dyn Vault>,
    /// The same vault, if its secrets move.
    moving: Option<Arc<MovingVault>>,
    incarnation: Incarnation,
    sites: Arc<dyn SiteChannel>,
    /// Whether secrets may be on their way here.
    expects: AtomicBool,
}

/// Carries requests from this site to others. `tessera-sites` implements it over mutual TLS; an owner can
/// implement it over another link between its sites.
///
/// A peer that can send such requests to a site can have keys burned there whose handles it knows, and one
/// that can forge an acknowledgement can make a client resend what was executed. So the channel MUST be
/// authenticated at both ends and integrity-protected, for example TLS with certificates on both sides. Its
/// content is confidential: it names sites and flights.
pub trait SiteChannel: Send + Sync {
    /// Requests [`SiteVault::burn_for_another`] at the site whose vault the request names, and returns the
    /// acknowledgement. `None` if there was none, or no such site; never a guess.
    ///
    /// The caller may give up and drop the future at any time; the request may still arrive afterwards. A
    /// late or repeated request does no harm. An acknowledgement is valid only for the request that it
    /// answers.
    fn burn_at_home(&self, request: &BurnAtHome) -> HomeAnswer;

    /// Requests [`SiteVault::burn_moved_here`] at the site that a secret moved to. Default: there is no such site.
    fn burn_moved(&self, _question: &BurnMoved) -> HomeAnswer {
        Box::pin(std::future::ready(None))
    }

    /// Requests [`SiteVault::life`] of the site with this vault. Default: there is no such site.
    fn life(&self, _vault: &[u8; 16]) -> LifeAnswer {
        Box::pin(std::future::ready(None))
    }

    /// Sends a secret to the site that it moves to, which calls [`SiteVault::arrive_from_another`]; returns whether it arrived
    /// there. It may be sent again until there is an answer: it arrives once. Default: there is no such site.
    fn carry(&self, _secret: MovedSecret) -> CarryAnswer {
        Box::pin(std::future::ready(None))
    }
}

/// The result of [`SiteChannel::life`], if there is one.
pub type LifeAnswer = Pin<Box<dyn Future<Output = Option<VaultLife>> + Send>>;

/// The result of [`SiteChannel::carry`], if there is one.
pub type CarryAnswer = Pin<Box<dyn Future<Output = Option<bool>> + Send>>;

/// The result of a [`SiteChannel`]: the acknowledgement, if there is one.
pub type HomeAnswer = Pin<Box<dyn Future<Output = Option<Acknowledgement>> + Send>>;

/// The home vault has no [`Incarnation`], so that tickets can't name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoIncarnation;

impl fmt::Display for NoIncarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the vault has no incarnation, and several sites need to distinguish their vaults",
        )
    }
}

impl std::error::Error for NoIncarnation {}

impl SiteVault {
    /// Makes the vault of a site, named by the home vault's own incarnation.
    ///
    /// # Errors
    /// Returns [`NoIncarnation`] if it has none: see [`named`](Self::named).
    pub fn new(home: Arc<dyn Vault>, sites: Arc<dyn SiteChannel>) -> Result<Self, NoIncarnation> {
        let incarnation = home.incarnation().ok_or(NoIncarnation)?;
        Ok(Self { home, moving: None, expects: AtomicBool::new(true), incarnation, sites })
    }

    /// Makes the vault of a site, named by its owner: random, never another vault's name, the same at all
    /// servers of the site. For a vault that outlives them, or ends with its one process.
    pub fn named(home: Arc<dyn Vault>, name: [u8; 16], sites: Arc<dyn SiteChannel>) -> Self {
        let incarnation = Incarnation { vault: name, number: 0 };
        Self { home, moving: None, expects: AtomicBool::new(true), incarnation, sites }
    }

    /// Makes the vault of a site whose secrets move with their clients.
    pub fn moving(vault: Arc<MovingVault>, sites: Arc<dyn SiteChannel>) -> Self {
        let incarnation = vault.life().incarnation();
        let expects = AtomicBool::new(true);
        Self { home: vault.clone(), moving: Some(vault), expects, incarnation, sites }
    }

    /// Returns whether this site's own vault must answer. It also answers if a ticket names no vault: it
    /// returns only its own secrets. Not for a secret that has left.
    pub fn is_home(&self, question: &TakeSecret) -> bool {
        self.is_own(question) && self.departure(question).is_none()
    }

    /// Whether the secret of this flight, of another site, may still arrive here: [`arrival`](Self::arrival) waits for it,
    /// and [`take`](Vault::take) then takes it.
    pub fn may_arrive(&self, question: &TakeSecret) -> bool {
        self.moving.is_some() && self.expects.load(Ordering::Relaxed) && !self.is_own(question)
    }

    /// Sets whether secrets may be on their way here, if the owner knows: else each flight of another site waits for its
    /// secret. Default: they may.
    pub fn expect_arrivals(&self, expects: bool) {
        self.expects.store(expects, Ordering::Relaxed);
    }

    /// Completes when that secret has arrived. There is no time-out here: a moment is enough, since the client waits meanwhile.
    pub fn arrival(&self, question: &TakeSecret) -> impl Future<Output = ()> + Send + use<> {
        let (moving, handle) = (self.moving.clone(), question.handle);
        async move {
            match moving {
                Some(moving) => moving.arrival(handle).await,
                None => std::future::pending().await,
            }
        }
    }

    fn is_own(&self, question: &TakeSecret) -> bool {
        question.incarnation.is_none_or(|of_secret| of_secret.vault == self.incarnation.vault)
    }

    fn departure(&self, question: &TakeSecret) -> Option<Departure> {
        self.moving.as_ref()?.departure(&question.handle, question.unix?)
    }

    /// Answers a question for another site's vault: has the secret burned there, and waits for the
    /// acknowledgement. Never returns [`TakeAnswer::Taken`].
    ///
    /// There is no time-out here: the caller decides how long to wait, because the client waits meanwhile,
    /// and then answers [`TakeAnswer::Unavailable`]. With tokio that is
    /// `timeout(patience, site.take_from_afar(&question))`.
    pub fn take_from_afar(
        &self,
        question: &TakeSecret,
    ) -> impl Future<Output = TakeAnswer> + Send + use<> {
        let (moving, sites) = (self.moving.clone(), self.sites.clone());
        let own = self.incarnation.vault;
        let departure = self.departure(question);
        let home = question.incarnation.filter(|_| !self.is_own(question));
        let question = *question;
        async move {
            let TakeSecret { handle, unix, .. } = question;
            let mut answer = match (departure, home) {
                (Some(departure), _) => Some(Acknowledgement::Moved(departure)),
                (None, Some(home)) => sites.burn_at_home(&BurnAtHome::new(handle, home)).await,
                (None, None) => None,
            };
            for _ in 0..MOST_MOVES {
                let Some(Acknowledgement::Moved(departure)) = answer else { break };
                let asked = BurnMoved { handle, departure };
                answer = match (&moving, unix) {
                    (Some(moving), Some(unix)) if departure.to.vault == own => {
                        Some(moving.burn_moved(&asked, unix))
                    }
                    _ => sites.burn_moved(&asked).await,
                };
            }
            // Without an answer the request may have arrived, or may still arrive: it is unknown whether the secret exists.
            answer.map_or(TakeAnswer::Unavailable, Acknowledgement::to_taken)
        }
    }

    /// Sends the secrets of a client to the site with this vault, and returns how many arrived there. What doesn't arrive is
    /// gone, and costs the client early data. Blocks on disk I/O once in a life.
    ///
    /// # Errors
    /// If this vault's secrets don't move, that site doesn't answer, or the departure can't be noted; then none has left.
    pub async fn move_secrets(&self, client: &[u8], to: &[u8; 16]) -> io::Result<usize> {
        let moving = self.moving.as_ref().ok_or_else(|| {
            io::Error::new(io::ErrorKind::Unsupported, "the secrets of this vault don't move")
        })?;
        let life = self.sites.life(to).await.filter(|life| life.vault == *to);
        let life = life.ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotConnected, "the other site doesn't answer")
        })?;
        let carried: Vec<_> =
            moving.depart(client, life)?.into_iter().map(|it| self.sites.carry(it)).collect();
        let mut arrived = 0;
        for carried in carried {
            arrived += usize::from(carried.await == Some(true));
        }
        Ok(arrived)
    }

    /// Returns the life that other sites may send secrets to; `None` if this vault takes none.
    pub fn life(&self) -> Option<VaultLife> {
        self.moving.as_ref().map(|moving| moving.life())
    }

    /// Takes a secret that another site sent.
    ///
    /// # Errors
    /// If it must not be taken.
    ///
    /// Only for messages from an authenticated channel; see [`SiteChannel`].
    pub fn arrive_from_another(
        &self,
        secret: MovedSecret,
        unix: Duration,
    ) -> Result<(), ArrivalRefused> {
        let moving = self.moving.as_ref().ok_or(ArrivalRefused::OtherLife)?;
        moving.arrive(secret, unix)
    }

    /// Makes sure that a secret that moved here is not accepted here any more, and returns what became of it.
    ///
    /// Only for requests from an authenticated channel; see [`SiteChannel`].
    pub fn burn_moved_here(&self, question: &BurnMoved, unix: Duration) -> Acknowledgement {
        let burn = |moving: &Arc<MovingVault>| moving.burn_moved(question, unix);
        self.moving.as_ref().map_or(Acknowledgement::Unknown, burn)
    }

    /// Burns a secret of this site, because another site was asked to accept its flight. The secret itself is
    /// not sent. If the home vault answers later, its owner asks it [`BurnAtHome::question`] and converts the
    /// answer with [`Acknowledgement::of`].
    ///
    /// Only for requests from an authenticated channel; see [`SiteChannel`].
    pub fn burn_for_another(
        &self,
        request: &BurnAtHome,
        unix: Option<Duration>,
    ) -> Reply<Acknowledgement> {
        if request.home.vault != self.incarnation.vault {
            return Reply::Now(Acknowledgement::Unknown);
        }
        let question = request.question(unix);
        if let Some(moving) = &self.moving {
            return Reply::Now(moving.burn_own(&question));
        }
        match self.home.take(&question) {
            Reply::Now(taken) => Reply::Now(Acknowledgement::of(&taken)),
            Reply::Later => Reply::Later,
        }
    }
}

impl Vault for SiteVault {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        self.home.put(put)
    }

    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer> {
        if self.is_home(question) {
            return match self.home.take(question) {
                // It has just left.
                Reply::Now(TakeAnswer::Unavailable | TakeAnswer::Absent(Absence::Unknown))
                    if !self.is_home(question) =>
                {
                    Reply::Later
                }
                taken => taken,
            };
        }
        match self.moving.as_ref().and_then(|moving| moving.take_arrived(question)) {
            Some(answer) => Reply::Now(answer),
            None => Reply::Later,
        }
    }

    fn burn(&self, handle: &FlightHandle) {
        self.home.burn(handle);
    }

    fn key_form(&self) -> KeyForm {
        self.home.key_form()
    }

    fn incarnation(&self) -> Option<Incarnation> {
        Some(self.incarnation)
    }

    fn len(&self) -> usize {
        self.home.len()
    }
}
