//! Moves of single clients: begin, wait, abort.

mod attempts;
mod drainer;
mod due;
mod placement;
mod queue;
mod refusal;
mod tracker;
mod unknown;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera_bindings::{
    Binding, BindingError, BindingState, BindingTable, Bindings, ClientName, MoveTimes,
    PoolSettings, ProxyName, StepRefused,
};
use tessera_kit::clock::unix;
use tokio::time::sleep;

pub(crate) use self::drainer::Drainer;
pub(crate) use self::due::take_due_steps;
use self::placement::destination;
pub(crate) use self::placement::{PlacedProxy, Placement};
use self::queue::{Queue, QueuePlace};
pub(crate) use self::refusal::{MoveRefusal, Why};
pub(crate) use self::tracker::Tracker;
use self::unknown::UnknownProxies;
use crate::config::Configuration;
use crate::metrics::{MoveMetrics, RequestResult};
use crate::state::{MoveTarget, WaitFor};

/// Moves clients on request.
pub(crate) struct Mover {
    pub(crate) bindings: Bindings,
    pub(crate) table: BindingTable,
    pub(crate) times: MoveTimes,
    pub(crate) metrics: Arc<MoveMetrics>,
    pub(crate) tracker: Arc<Tracker>,
    /// What the proxies must have too.
    pub(crate) settings: PoolSettings,
    hysteresis: u8,
    queue: Arc<Queue>,
    unknown: UnknownProxies,
}

/// A request to move a client.
#[derive(Debug, Clone)]
pub(crate) struct MoveRequest {
    pub(crate) client: ClientName,
    pub(crate) to: MoveTarget,
    pub(crate) wait: WaitFor,
    pub(crate) is_queued: bool,
}

/// Where a move is when the request is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MoveOutcome {
    pub(crate) binding: Binding,
    /// Whether it is where the request waits for.
    pub(crate) is_there: bool,
}

/// How much longer than the store's deadlines a request waits: a step that is due is taken within two seconds.
const MARGIN: Duration = Duration::from_secs(5);

/// The shortest time between two attempts of a request in the queue.
const PAUSE: Duration = Duration::from_millis(20);

impl Mover {
    pub(crate) fn new(
        configuration: &Configuration,
        bindings: Bindings,
        table: BindingTable,
        metrics: Arc<MoveMetrics>,
    ) -> Self {
        Self {
            bindings,
            table,
            times: configuration.pool.times(),
            tracker: Arc::new(Tracker::new(metrics.clone())),
            metrics,
            hysteresis: configuration.moves.hysteresis,
            queue: Arc::new(Queue::new(configuration.moves.waiting)),
            unknown: UnknownProxies::new(),
            settings: configuration.pool.settings(),
        }
    }

    /// Returns how long a request may take.
    pub(crate) fn longest(times: &MoveTimes) -> Duration {
        Self::longest_in_queue(times)
            .saturating_add(times.prepare)
            .saturating_add(times.announce)
            .saturating_add(2 * MARGIN)
    }

    /// Another move may have just begun, and then the client stays for a while.
    fn longest_in_queue(times: &MoveTimes) -> Duration {
        let moves = times.prepare.saturating_add(times.announce);
        moves.saturating_add(times.drain.max(times.dwell)).saturating_add(MARGIN)
    }

    /// Returns how many requests wait until their clients can move.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Moves a client. It may be repeated: a move that has begun goes on, whatever becomes of the caller.
    pub(crate) async fn request(&self, request: &MoveRequest) -> Result<MoveOutcome, MoveRefusal> {
        let outcome = self.begin_and_wait(request).await;
        let result = match &outcome {
            Ok(MoveOutcome { is_there: true, .. }) => RequestResult::Done,
            Ok(_) => RequestResult::Accepted,
            Err(MoveRefusal { why, .. }) => match why {
                Why::GivenUp(_) => RequestResult::Aborted,
                Why::Superseded => RequestResult::Superseded,
                Why::QueueFull | Why::NotCurrent => RequestResult::Unavailable,
                Why::Step(BindingError::Store(_) | BindingError::Contended) => {
                    RequestResult::Unavailable
                }
                Why::Step(_) | Why::Drained(_) | Why::NoTarget => RequestResult::Refused,
            },
        };
        self.metrics.requests.count(result);
        outcome
    }

    async fn begin_and_wait(&self, request: &MoveRequest) -> Result<MoveOutcome, MoveRefusal> {
        let called = Instant::now();
        let (begun, next) = self.begin(request, called).await?;
        match request.wait {
            WaitFor::None => {
                let is_there = begun.owner() == &next;
                Ok(MoveOutcome { binding: begun, is_there })
            }
            wait => self.wait(&request.client, begun, &next, wait).await,
        }
    }

    /// Gives the move of a client up, if there is one.
    pub(crate) async fn abort(&self, client: &ClientName) -> Result<Binding, MoveRefusal> {
        let aborted = async {
            let generation = self.bindings.read(client).await?.generation;
            self.bindings.abort(client, generation).await
        };
        match aborted.await {
            Ok(binding) => Ok(binding),
            Err(error) => Err(self.step_refusal(client, error).await),
        }
    }

    /// Begins a move, at once or when the client can move.
    async fn begin(
        &self,
        request: &MoveRequest,
        called: Instant,
    ) -> Result<(Binding, ProxyName), MoveRefusal> {
        let mut place: Option<QueuePlace> = None;
        loop {
            let refusal = match self.begin_now(request, called).await {
                Ok(begun) => return Ok(begun),
                Err(refusal) => refusal,
            };
            let longest = Self::longest_in_queue(&self.times).saturating_sub(called.elapsed());
            if !request.is_queued || !refusal.passes() || longest.is_zero() {
                return Err(refusal);
            }
            let place = match &mut place {
                Some(place) => place,
                None => match self.queue.enter(&request.client) {
                    Some(entered) => place.insert(entered),
                    None => return Err(self.refusal(&request.client, Why::QueueFull)),
                },
            };
            tokio::select! {
                () = place.superseded() => {
                    return Err(self.refusal(&request.client, Why::Superseded));
                }
                () = async {
                    // The table may be behind the store, which has just refused.
                    sleep(PAUSE).await;
                    self.until_it_may_begin(request).await;
                } => {}
                () = sleep(longest) => {}
            }
        }
    }

    async fn begin_now(
        &self,
        request: &MoveRequest,
        called: Instant,
    ) -> Result<(Binding, ProxyName), MoveRefusal> {
        let client = &request.client;
        let next = self.target(request).await?;
        match self.bindings.begin(client, &next).await {
            Ok(begun) => {
                self.tracker.begun(client, &begun, called);
                Ok((begun, next))
            }
            Err(error) => Err(self.step_refusal(client, error).await),
        }
    }

    /// Chooses the proxy, by what the table has.
    async fn target(&self, request: &MoveRequest) -> Result<ProxyName, MoveRefusal> {
        let refuse = |why| Err(self.refusal(&request.client, why));
        let placement = || Placement::of(&self.table);
        match &request.to {
            MoveTarget::Proxy(name) => {
                self.expect_known(name).map_err(|why| self.refusal(&request.client, why))?;
                let is_drained =
                    placement().proxies.get(name).is_some_and(|proxy| proxy.is_drained);
                if is_drained {
                    // A client that is there, or on its way, isn't moved by this.
                    let binding = self.bindings.read(&request.client).await;
                    let binding =
                        binding.map_err(|error| self.refusal(&request.client, Why::Step(error)))?;
                    if destination(&binding) != name {
                        return refuse(Why::Drained(name.clone()));
                    }
                }
                Ok(name.clone())
            }
            MoveTarget::Auto if !self.table.is_current() => refuse(Why::NotCurrent),
            MoveTarget::Auto => {
                let binding = match self.table.binding(&request.client) {
                    Some(binding) => binding,
                    None => {
                        let read = self.bindings.read(&request.client).await;
                        read.map_err(|error| self.refusal(&request.client, Why::Step(error)))?
                    }
                };
                // A move that is in progress was placed when it began.
                if let BindingState::Preparing { next, .. } | BindingState::Announced { next, .. } =
                    &binding.state
                {
                    return Ok(next.clone());
                }
                let better = placement().better(binding.owner(), self.hysteresis).cloned();
                better.map_or_else(|| refuse(Why::NoTarget), Ok)
            }
        }
    }

    /// The table has each live proxy, but for one that has just come: the store is asked for that, though not for each name that
    /// a caller invents.
    fn expect_known(&self, name: &ProxyName) -> Result<(), Why> {
        if self.table.proxy(name).is_some() {
            return Ok(());
        }
        self.bindings.check_proxy_name(name).map_err(Why::Step)?;
        match self.unknown.may_read(Instant::now()) {
            true => Ok(()),
            false if self.table.is_current() => {
                Err(Why::Step(BindingError::ProxyGone(name.clone())))
            }
            false => Err(Why::NotCurrent),
        }
    }

    /// Waits until the table's copy of the binding allows a move: a step in the store then decides.
    async fn until_it_may_begin(&self, request: &MoveRequest) {
        let mut changes = self.table.changes_for(&request.client);
        loop {
            let binding = self.table.binding(&request.client);
            let may_begin = match (&request.to, binding) {
                (_, None) => return,
                (MoveTarget::Proxy(next), Some(binding)) => {
                    binding.begin(next, &self.times, unix()).map(|_| ())
                }
                (MoveTarget::Auto, Some(binding)) => {
                    // To no proxy in particular.
                    let other = ProxyName(String::new());
                    binding.begin(&other, &self.times, unix()).map(|_| ())
                }
            };
            let pause = match may_begin {
                Err(StepRefused::TooSoon(wait)) => wait.max(Duration::from_millis(1)),
                Err(StepRefused::Moving(_) | StepRefused::NotSettled(_)) => Duration::MAX,
                Ok(()) | Err(_) => return,
            };
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                () = sleep(pause) => {}
            }
        }
    }

    /// Follows a move that has begun in the table.
    async fn wait(
        &self,
        client: &ClientName,
        begun: Binding,
        next: &ProxyName,
        wait: WaitFor,
    ) -> Result<MoveOutcome, MoveRefusal> {
        let longest = match wait {
            WaitFor::Switched => self.times.prepare.saturating_add(self.times.announce),
            _ => self.times.prepare,
        };
        let deadline = sleep(longest.saturating_add(MARGIN));
        let mut deadline = std::pin::pin!(deadline);
        let mut changes = self.table.changes_for(client);
        let generation = begun.generation;
        let mut binding = begun;
        loop {
            // The table may be behind the answer of the store.
            if let Some(now) = self.table.binding(client).filter(|it| it.generation >= generation) {
                binding = now;
            }
            match progress(&binding, generation, next, wait) {
                Progress::There => return Ok(MoveOutcome { binding, is_there: true }),
                Progress::Ended => {
                    let is_of_this = binding.generation == generation;
                    let failure = binding.failure.clone().filter(|_| is_of_this);
                    let why = Why::GivenUp(failure);
                    return Err(MoveRefusal { why, binding: Some(Box::new(binding)) });
                }
                Progress::UnderWay => {}
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() {
                    return Err(self.refusal(client, Why::NotCurrent));
                },
                () = &mut deadline => return Ok(MoveOutcome { binding, is_there: false }),
            }
        }
    }

    /// Returns the refusal of a step, with the binding by which it was refused: the table may be behind.
    async fn step_refusal(&self, client: &ClientName, error: BindingError) -> MoveRefusal {
        let binding = match &error {
            BindingError::Refused(_) => self.bindings.read(client).await.ok().map(Box::new),
            _ => None,
        };
        let refusal = self.refusal(client, Why::Step(error));
        MoveRefusal { binding: binding.or(refusal.binding), ..refusal }
    }

    fn refusal(&self, client: &ClientName, why: Why) -> MoveRefusal {
        MoveRefusal { why, binding: self.table.binding(client).map(Box::new) }
    }
}

enum Progress {
    UnderWay,
    There,
    /// Without the client's arrival.
    Ended,
}

/// Returns how far the move of a generation is.
fn progress(
    binding: &Binding,
    generation: tessera_bindings::Generation,
    next: &ProxyName,
    wait: WaitFor,
) -> Progress {
    let is_later = binding.generation != generation;
    match &binding.state {
        BindingState::Preparing { owner, .. } | BindingState::Announced { owner, .. }
            if is_later =>
        {
            if owner == next {
                Progress::There
            } else {
                Progress::Ended
            }
        }
        BindingState::Preparing { .. } => Progress::UnderWay,
        BindingState::Announced { .. } => match wait {
            WaitFor::Switched => Progress::UnderWay,
            WaitFor::Announced | WaitFor::None => Progress::There,
        },
        BindingState::Switched { owner, earlier, .. } => {
            let is_there = owner == next || (is_later && earlier == next);
            if is_there { Progress::There } else { Progress::Ended }
        }
        BindingState::Stable { owner } => {
            if owner == next {
                Progress::There
            } else {
                Progress::Ended
            }
        }
    }
}
