//! Z85, the Base85 encoding of bytes in descriptors. It has five characters for four bytes, and
//! JSON need not escape them. <https://rfc.zeromq.org/spec/32/>

const ALPHABET: &[u8; 85] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
const NO_DIGIT: u8 = u8::MAX;
const DIGITS: [u8; 256] = digits();

const fn digits() -> [u8; 256] {
    let mut digits = [NO_DIGIT; 256];
    let mut value = 0;
    while value < ALPHABET.len() {
        digits[ALPHABET[value] as usize] = value as u8;
        value += 1;
    }
    digits
}

/// Encodes bytes, padded with zeros to a multiple of four. The string does not contain the number
/// of bytes without padding, so a reader needs it from another source.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(4) * 5);
    for chunk in bytes.chunks(4) {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        let word = u32::from_be_bytes(word);
        for power in [85_u32.pow(4), 85_u32.pow(3), 85_u32.pow(2), 85, 1] {
            text.push(char::from(ALPHABET[(word / power % 85) as usize]));
        }
    }
    text
}

/// Decodes a string. Returns `None` if a character is not in the alphabet, or if a group is
/// incomplete or exceeds four bytes.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let (groups, rest) = text.as_bytes().as_chunks::<5>();
    if !rest.is_empty() {
        return None;
    }
    let mut bytes = Vec::with_capacity(groups.len() * 4);
    for group in groups {
        let mut word = 0_u64;
        for character in group {
            let digit = DIGITS[usize::from(*character)];
            if digit == NO_DIGIT {
                return None;
            }
            word = word * 85 + u64::from(digit);
        }
        bytes.extend_from_slice(&u32::try_from(word).ok()?.to_be_bytes());
    }
    Some(bytes)
}
