//! The memory budget of a process's scans, and reservations of its parts.
//!
//! A reservation is an estimate that is made before the memory is used; nothing here allocates.
//! Begin with [`MemoryBudget::reserve`].

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::oneshot;

use crate::runtime::process::PerProcess;

/// By default, scans may reserve this part of the memory of the process: a quarter.
const DEFAULT_SHARE: u64 = 4;
/// The total memory that is assumed if it cannot be determined.
const DEFAULT_TOTAL_BYTES: u64 = 8 << 30;
const LEAST_BYTES: u64 = 64 << 20;
/// The least limit. Scans, merges and clustering cannot keep a lower limit, because one batch of
/// rows takes as much.
pub const LEAST_LIMIT_BYTES: u64 = 1 << 20;
/// The environment variable that sets the limit in bytes.
const LIMIT: &str = "LAKEBED_MEMORY_LIMIT";

/// A number of bytes that all owners of a clone share.
#[derive(Debug, Clone)]
pub struct MemoryBudget(Arc<Mutex<BudgetState>>);

#[derive(Debug)]
struct BudgetState {
    limit_bytes: u64,
    used_bytes: u64,
    /// The waiting reservations, first come, first served.
    waiting: VecDeque<Waiter>,
    /// The watches that record the most bytes that were reserved.
    watches: Vec<Weak<AtomicU64>>,
}

#[derive(Debug)]
struct Waiter {
    bytes: u64,
    admitted: oneshot::Sender<Reservation>,
}

/// Records the most bytes that are reserved while it exists.
#[derive(Debug)]
pub struct PeakWatch(Arc<AtomicU64>);

/// A reserved part of the budget. It is returned when this is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: MemoryBudget,
    bytes: u64,
}

/// The budget of this process.
static PROCESS: PerProcess<MemoryBudget> = PerProcess::new();
/// The memory limit in bytes that the program has set. Forked children inherit it. 0 means that no
/// limit is set.
static TOLD_BYTES: AtomicU64 = AtomicU64::new(0);

impl MemoryBudget {
    /// Creates a separate budget.
    pub fn new(limit_bytes: u64) -> Self {
        Self(Arc::new(Mutex::new(BudgetState { limit_bytes, used_bytes: 0, waiting: VecDeque::new(), watches: Vec::new() })))
    }

    /// Returns the budget that all scans of this process share by default.
    pub fn of_process() -> Self {
        let fresh = || match TOLD_BYTES.load(Ordering::Relaxed) {
            0 => Self::new(default_limit_bytes()),
            told => Self::new(told),
        };
        PROCESS.get(fresh).unwrap_or_else(fresh)
    }

    /// Sets the limit for all reservations of this process, and of children that it forks from now
    /// on. A limit below [`LEAST_LIMIT_BYTES`] is not kept.
    pub fn set_limit_bytes_of_process(bytes: u64) {
        TOLD_BYTES.store(bytes.max(1), Ordering::Relaxed);
        Self::of_process().set_limit_bytes(bytes);
    }

    /// Returns the most bytes that may be reserved at a time.
    pub fn limit_bytes(&self) -> u64 {
        self.state().limit_bytes
    }

    /// Returns the number of reserved bytes. This is more than the limit if one reservation was
    /// larger than the limit.
    pub fn used_bytes(&self) -> u64 {
        self.state().used_bytes
    }

    /// Watches from now on how many bytes all owners together reserve.
    pub fn watch(&self) -> PeakWatch {
        let mut state = self.state();
        let most = Arc::new(AtomicU64::new(state.used_bytes));
        state.watches.retain(|watch| watch.strong_count() > 0);
        state.watches.push(Arc::downgrade(&most));
        PeakWatch(most)
    }

    /// Sets the most bytes that may be reserved at a time. Existing reservations stay.
    pub fn set_limit_bytes(&self, bytes: u64) {
        let mut state = self.state();
        state.limit_bytes = bytes;
        self.admit(state);
    }

    /// Reserves bytes, and waits until there is room. A reservation that is larger than the whole
    /// budget waits until nothing else is reserved.
    pub async fn reserve(&self, bytes: u64) -> Reservation {
        let waiting = {
            let mut state = self.state();
            if state.nobody_waits() && state.has_room(bytes) {
                state.take(bytes);
                return self.reservation(bytes);
            }
            let (admitted, waiting) = oneshot::channel();
            state.waiting.push_back(Waiter { bytes, admitted });
            waiting
        };
        match waiting.await {
            Ok(reservation) => reservation,
            // The sender is dropped only with the budget, which `self` holds.
            Err(_) => self.reserve_now(bytes),
        }
    }

    /// Reserves bytes if there is room and no other reservation waits.
    pub fn try_reserve(&self, bytes: u64) -> Option<Reservation> {
        let mut state = self.state();
        if !state.nobody_waits() || !state.has_room(bytes) {
            return None;
        }
        state.take(bytes);
        Some(self.reservation(bytes))
    }

    /// Reserves bytes whether there is room or not. This is for work that must continue to avoid a
    /// deadlock of waiting reservations.
    pub fn reserve_now(&self, bytes: u64) -> Reservation {
        let mut state = self.state();
        state.take(bytes);
        self.reservation(bytes)
    }

    fn reservation(&self, bytes: u64) -> Reservation {
        Reservation { budget: self.clone(), bytes }
    }

    fn release(&self, bytes: u64) {
        let mut state = self.state();
        state.used_bytes = state.used_bytes.saturating_sub(bytes);
        self.admit(state);
    }

    /// Admits the waiting reservations for which there is room now.
    fn admit(&self, mut state: MutexGuard<'_, BudgetState>) {
        let mut admitted = Vec::new();
        while let Some(waiter) = state.waiting.front() {
            let gone = waiter.admitted.is_closed();
            if !gone && !state.has_room(waiter.bytes) {
                break;
            }
            let Some(waiter) = state.waiting.pop_front() else { break };
            if !gone {
                state.take(waiter.bytes);
                admitted.push(waiter);
            }
        }
        // A waiter that has given up meanwhile returns its reservation when it is dropped, which
        // takes the lock again.
        drop(state);
        for waiter in admitted {
            let _ = waiter.admitted.send(self.reservation(waiter.bytes));
        }
    }

    fn state(&self) -> MutexGuard<'_, BudgetState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BudgetState {
    fn take(&mut self, bytes: u64) {
        self.used_bytes = self.used_bytes.saturating_add(bytes);
        for watch in self.watches.iter().filter_map(Weak::upgrade) {
            watch.fetch_max(self.used_bytes, Ordering::Relaxed);
        }
    }

    /// Returns whether no reservation waits. Waiters that gave up do not count.
    fn nobody_waits(&mut self) -> bool {
        self.waiting.retain(|waiter| !waiter.admitted.is_closed());
        self.waiting.is_empty()
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.used_bytes == 0 || self.used_bytes.saturating_add(bytes) <= self.limit_bytes
    }
}

impl PeakWatch {
    /// Returns the most bytes so far.
    pub fn peak_bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Reservation {
    /// Returns the number of reserved bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Splits off a part, at most all of it.
    #[must_use]
    pub fn split(&mut self, bytes: u64) -> Self {
        let part = bytes.min(self.bytes);
        self.bytes -= part;
        Self { budget: self.budget.clone(), bytes: part }
    }

    /// Grows the reservation to at least this many bytes, whether there is room or not.
    pub fn grow_to(&mut self, bytes: u64) {
        if let Some(more) = bytes.checked_sub(self.bytes).filter(|more| *more > 0) {
            let mut added = self.budget.reserve_now(more);
            self.bytes += std::mem::take(&mut added.bytes);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.release(self.bytes);
        }
    }
}

fn default_limit_bytes() -> u64 {
    let share = || (total_bytes().unwrap_or(DEFAULT_TOTAL_BYTES) / DEFAULT_SHARE).max(LEAST_BYTES);
    std::env::var(LIMIT).ok().and_then(|named| parse_limit(&named)).unwrap_or_else(share)
}

fn parse_limit(named: &str) -> Option<u64> {
    let bytes: Option<u64> = named.trim().parse().ok();
    if bytes.is_none() && !named.trim().is_empty() {
        tracing::warn!("{LIMIT} is ignored: {named:?} is not a number of bytes");
    }
    if bytes.is_some_and(|bytes| bytes < LEAST_LIMIT_BYTES) {
        tracing::warn!("{LIMIT} is raised to {LEAST_LIMIT_BYTES}: {named} bytes are not enough");
    }
    bytes.map(|bytes| bytes.max(LEAST_LIMIT_BYTES))
}

/// Returns the memory of the machine, or of the container if that is less.
fn total_bytes() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| parse_meminfo(&text));
    let own_group = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let groups = group_directories(&own_group).into_iter().filter_map(|directory| {
        let limit = std::fs::read_to_string(format!("{directory}/memory.max"));
        let limit = limit.or_else(|_| std::fs::read_to_string(format!("{directory}/memory.limit_in_bytes")));
        limit.ok()?.trim().parse::<u64>().ok()
    });
    groups.chain(machine).min()
}

/// Returns the folders that may contain limits for this process: the folder of its own group, those
/// above it, and the root of the container.
fn group_directories(own_group: &str) -> Vec<String> {
    let mut directories = vec!["/sys/fs/cgroup".to_owned(), "/sys/fs/cgroup/memory".to_owned()];
    for line in own_group.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let root = match controllers {
            "" => "/sys/fs/cgroup",
            _ if controllers.split(',').any(|name| name == "memory") => "/sys/fs/cgroup/memory",
            _ => continue,
        };
        let mut path = path.trim_end_matches('/');
        while !path.is_empty() {
            directories.push(format!("{root}{path}"));
            path = path.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }
    directories
}

fn parse_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    async fn waits(future: impl Future<Output = Reservation>) -> bool {
        tokio::time::timeout(Duration::from_millis(20), future).await.is_err()
    }

    #[tokio::test]
    async fn reservation_waits_until_room_is_released() {
        let budget = MemoryBudget::new(100);
        let first = budget.reserve(60).await;
        assert!(waits(budget.reserve(41)).await);
        assert!(budget.try_reserve(41).is_none());
        let second = budget.try_reserve(40).unwrap();
        assert_eq!(budget.used_bytes(), 100);
        drop(first);
        assert_eq!(budget.used_bytes(), 40);
        let third = budget.reserve(60).await;
        drop((second, third));
        assert_eq!(budget.used_bytes(), 0);
    }

    #[tokio::test]
    async fn reservation_above_budget_is_admitted_alone() {
        let budget = MemoryBudget::new(100);
        let small = budget.reserve(1).await;
        assert!(waits(budget.reserve(1000)).await);
        drop(small);
        let large = budget.reserve(1000).await;
        assert_eq!(large.bytes(), 1000);
        assert!(waits(budget.reserve(1)).await);
    }

    #[tokio::test]
    async fn first_come_first_served() {
        let budget = MemoryBudget::new(100);
        let held = budget.reserve(100).await;
        let large = budget.reserve(80);
        let others = async {
            tokio::task::yield_now().await;
            drop(held);
            // Twenty bytes are left. The larger reservation gets its room only because it was
            // first.
            assert!(budget.try_reserve(21).is_none());
        };
        assert_eq!(tokio::join!(large, others).0.bytes(), 80);
    }

    #[tokio::test]
    async fn a_greater_limit_lets_waiters_in() {
        let budget = MemoryBudget::new(10);
        let _held = budget.reserve(10).await;
        let waiting = budget.clone();
        let raise = async {
            tokio::task::yield_now().await;
            budget.set_limit_bytes(20);
        };
        let (reservation, ()) = tokio::join!(waiting.reserve(10), raise);
        assert_eq!((reservation.bytes(), budget.limit_bytes()), (10, 20));
    }

    #[test]
    fn environment_limit_is_number_of_bytes() {
        assert_eq!(parse_limit(" 2097152 "), Some(2 << 20));
        assert_eq!([parse_limit("0"), parse_limit("1"), parse_limit("1048575")], [Some(LEAST_LIMIT_BYTES); 3]);
        for named in ["", "2GB", "-1"] {
            assert_eq!(parse_limit(named), None);
        }
    }

    #[test]
    fn limits_are_read_from_what_linux_says() {
        assert_eq!(parse_meminfo("MemTotal:       24601716 kB\nMemFree: 1 kB\n"), Some(24_601_716 * 1024));
        assert_eq!(parse_meminfo("nonsense"), None);
        let directories = group_directories("0::/user.slice/a\n3:cpu,memory:/docker/b\n2:cpu:/c\n");
        let expected = [
            "/sys/fs/cgroup",
            "/sys/fs/cgroup/memory",
            "/sys/fs/cgroup/user.slice/a",
            "/sys/fs/cgroup/user.slice",
            "/sys/fs/cgroup/memory/docker/b",
            "/sys/fs/cgroup/memory/docker",
        ];
        assert_eq!(directories, expected);
        assert!(MemoryBudget::of_process().limit_bytes() >= LEAST_BYTES);
    }

    proptest! {
        #[test]
        fn parts_add_up(total in 0_u64..1000, cuts in prop::collection::vec(0_u64..400, 0..8), grown in 0_u64..2000) {
            let budget = MemoryBudget::new(1000);
            let mut whole = budget.reserve_now(total);
            let parts: Vec<_> = cuts.iter().map(|cut| whole.split(*cut)).collect();
            prop_assert_eq!(parts.iter().map(Reservation::bytes).sum::<u64>() + whole.bytes(), total);
            prop_assert_eq!(budget.used_bytes(), total);
            let before = whole.bytes();
            whole.grow_to(grown);
            prop_assert_eq!(budget.used_bytes(), total - before + before.max(grown));
            drop((whole, parts));
            prop_assert_eq!(budget.used_bytes(), 0);
        }
    }
}
