//! This boot, this machine, and the two clocks.

use std::fs;
use std::io;
use std::sync::OnceLock;

use rustix::time::{ClockId, clock_gettime};

/// Returns the id of the current boot, as the kernel prints it.
pub fn boot_id() -> io::Result<String> {
    static BOOT_ID: OnceLock<String> = OnceLock::new();
    if let Some(id) = BOOT_ID.get() {
        return Ok(id.clone());
    }
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(BOOT_ID.get_or_init(|| id.trim().to_owned()).clone())
}

/// Returns an id of the machine that outlives boots.
///
/// `/etc/machine-id`, else D-Bus's, else the host's name behind `host-`. Never empty.
#[must_use]
pub fn machine_id() -> String {
    ["/etc/machine-id", "/var/lib/dbus/machine-id"]
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .map(|text| text.trim().to_owned())
        .find(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .unwrap_or_else(|| {
            let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            format!("host-{}", name.trim())
        })
}

/// Returns milliseconds since boot, time asleep included (`CLOCK_BOOTTIME`). Never goes back.
#[must_use]
pub fn boot_time_ms() -> u64 {
    to_ms(clock_gettime(ClockId::Boottime))
}

/// Returns milliseconds since the Unix epoch. Goes back when somebody sets the clock.
#[must_use]
pub fn wall_time_ms() -> u64 {
    to_ms(clock_gettime(ClockId::Realtime))
}

fn to_ms(time: rustix::time::Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1000).saturating_add(nanoseconds / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_there_and_stay() {
        let id = boot_id().expect("a boot id");
        assert_eq!(id.len(), 36, "{id}");
        assert_eq!(boot_id().expect("a boot id"), id);
        assert!(!machine_id().is_empty());
        assert_eq!(machine_id(), machine_id());
    }

    #[test]
    fn boot_time_never_goes_back_and_is_younger_than_the_epoch() {
        let before = boot_time_ms();
        assert!(boot_time_ms() >= before);
        assert!(wall_time_ms() > boot_time_ms());
    }
}
