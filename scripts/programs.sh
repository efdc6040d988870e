# Sourced by the scripts that pack muster's programs: for which architecture they are, and how they run here.
# shellcheck shell=bash

# The name that Debian, Go and OCI have for the architecture of the programs in a build folder.
architecture_of() {
  local header
  header=$(LC_ALL=C readelf --file-header "$1/muster")
  case "$header" in
    *Machine:*X86-64*) echo amd64 ;;
    *Machine:*AArch64*) echo arm64 ;;
    *)
      echo "$1/muster is for neither amd64 nor arm64" >&2
      return 1
      ;;
  esac
}

# GNU's name of its machine, as in names of folders and tools; and with the system.
machine_of() { case "$1" in amd64) echo x86_64 ;; arm64) echo aarch64 ;; esac; }
triplet_of() { echo "$(machine_of "$1")-linux-gnu"; }

# native_or ARCH COMMAND...: what runs its programs here is nothing, or this command, one word a line.
native_or() {
  local arch=$1
  shift
  [[ $arch == "$(dpkg --print-architecture)" ]] || printf '%s\n' "$@"
}

# version_of BUILD ROOT: "muster VERSION (COMMIT)", as the program says with the libraries of ROOT (scripts/image-root).
version_of() {
  local arch emulator
  arch=$(architecture_of "$1")
  mapfile -t emulator < <(native_or "$arch" "qemu-$(machine_of "$arch")-static" -L "$2")
  "${emulator[@]}" "$2/muster" version | sed -n 1p
}
