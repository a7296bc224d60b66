// Length and CRC-32 of bytes, as all peers print them.
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) crc = (crc >>> 8) ^ TABLE[(crc ^ byte) & 0xff];
  return ~crc >>> 0;
}

export function lengthAndCrc(bytes) {
  return `len ${bytes.length} crc ${crc32(bytes).toString(16).padStart(8, "0")}`;
}
