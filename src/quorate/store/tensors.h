// A safetensors file in memory: named arrays and a text table. Other tools read it; we check every byte of it.
#pragma once
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/base/column.h"
#include "quorate/base/error.h"
#include "quorate/store/files.h"

namespace quorate {

static_assert(std::endian::native == std::endian::little, "the model file is little-endian");

template <class T>
concept TensorValue = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::uint64_t> ||
    std::same_as<T, std::uint32_t> || std::same_as<T, std::int8_t> || std::same_as<T, char>;

template <TensorValue T>
constexpr std::string_view dtype() {
  if constexpr (std::same_as<T, float>) return "F32";
  if constexpr (std::same_as<T, double>) return "F64";
  if constexpr (std::same_as<T, std::uint64_t>) return "U64";
  if constexpr (std::same_as<T, std::uint32_t>) return "U32";
  if constexpr (std::same_as<T, std::int8_t>) return "I8";
  return "U8";
}

/// One-dimensional arrays by name, and text by key.
struct Tensors {
  struct Tensor {
    std::string dtype;
    Column<std::byte> bytes;
  };
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

inline constexpr int kFormatVersion = 1;

/// The bytes of a safetensors file: u64 header length, JSON header with `__metadata__`, data. Adds the keys `format`
/// ("quorate"), `format_version` and `checksum` (XXH3-128 of the whole file with the checksum's digits as zeros).
/// Equal tensors and metadata give equal bytes.
std::string to_bytes(const Tensors& tensors);

/// Writes the bytes of to_bytes() part by part, without a copy of the whole. Throws FileError.
void write_tensors(const Tensors& tensors, OutputFile& file);

/// Inverse of to_bytes. Every size, every offset and the checksum are checked first; a tensor's data are read from `file`
/// when its column is read. Throws DataError with the reason: not a model file, newer version, damaged.
Tensors read_tensors(const Column<std::byte>& file);
Tensors from_bytes(std::string_view bytes);  ///< read_tensors() of a copy

}  // namespace quorate
