//! Small random changes of bytes, the same for the same seed.

/// Tokens with which parsers have had problems.
const TOKENS: [&[u8]; 32] = [
    b"null",
    b"{}",
    b"[]",
    b"\"\"",
    b"-1",
    b"0",
    b"1.0",
    b"1e999",
    b"-0.0",
    b"9223372036854775807",
    b"9223372036854775808",
    b"2147483648",
    b"18446744073709551616",
    b"\\u0000",
    b"\\ud800",
    b"\\\"",
    b"\"",
    b"\\",
    b"..",
    b"/../",
    b"%2e%2e",
    b"%",
    b"%00",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x80",
    b"\xef\xbb\xbf",
    b"{\"a\":",
    b"\"path\":",
    b"+10000-01-01",
    b"2024-02-30T24:60:61.9999999+18:01",
    b"NaN",
    b"\n",
];

/// Makes random changes of bytes.
pub struct Mutator(u64);

impl Mutator {
    /// Returns a mutator with this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns one of the seeds after a few changes.
    pub fn mutate(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes, seeds);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let at = self.below(bytes.len() + 1);
        let end = at + self.below((bytes.len() - at).min(24) + 1);
        match self.below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let copy = bytes[at..end].to_vec();
                let place = self.below(bytes.len() + 1);
                bytes.splice(place..place, copy);
            }
            3 => {
                let other = &seeds[self.below(seeds.len())];
                let from = self.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            4 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << self.below(8);
                }
            }
            5 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = self.below(256) as u8;
                }
            }
            6 => drop(bytes.splice(at..end, TOKENS[self.below(TOKENS.len())].iter().copied())),
            _ => drop(bytes.splice(at..at, TOKENS[self.below(TOKENS.len())].iter().copied())),
        }
    }

    /// Returns a random number below the limit, which is not 0.
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit
    }
}
